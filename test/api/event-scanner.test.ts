import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MediaType } from '../../src/api/body-reader.ts';
import { type EventBatch, parseEventBatch } from '../../src/api/event-batch.ts';
import { scanEvents } from '../../src/api/event-scanner.ts';

const EVENTS_MAX = 6;
const MEDIA_TYPES: readonly MediaType[] = ['application/json', 'application/x-ndjson'];

/** What the parser makes of a body; null when it refuses any of it. */
function parsed(body: Buffer, mediaType: MediaType): EventBatch | null {
  try {
    const batch = parseEventBatch(body.toString('utf8'), mediaType, EVENTS_MAX);
    return batch.rejections.length === 0 ? batch : null;
  } catch {
    return null;
  }
}

function scan(text: string, mediaType: MediaType = 'application/json'): EventBatch | null {
  return scanEvents(Buffer.from(text), mediaType, EVENTS_MAX);
}

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('', 'x'.repeat(128), 'x'.repeat(129), 'x'.repeat(512), 'x'.repeat(513), '\u007f'),
);
const number = fc.oneof(
  fc.integer({ min: -1, max: 1_000_001 }),
  fc.double(),
  fc.constantFrom(0, 1, 1_000_000, 999_999_999_999_999, 1_000_000_000_000_000, 1e21),
);
const event = fc.record(
  {
    item: text,
    stream: text,
    actor: text,
    count: number,
    at: fc.oneof(number, fc.constant('2026-11-30T10:00:00Z')),
    dims: fc.oneof(
      fc.constantFrom({}, null, [], 'x', { a: 1 }),
      fc.dictionary(fc.oneof(text, fc.constantFrom('a', 'constructor', '7')), text, { maxKeys: 9 }),
    ),
    other: text,
  },
  { requiredKeys: ['item'] },
);
const plainEvent = fc.record(
  {
    item: fc.stringMatching(/^[ !#-[\]-~]{1,20}$/),
    actor: fc.stringMatching(/^[a-z0-9.]{1,12}$/),
    count: fc.integer({ min: 1, max: 1_000_000 }),
    at: fc.integer({ min: 0, max: 2 ** 41 }),
    dims: fc.dictionary(fc.stringMatching(/^[a-z_0-9]{1,6}$/), fc.stringMatching(/^[A-Z]{1,3}$/), {
      minKeys: 1,
      maxKeys: 8,
    }),
  },
  { requiredKeys: ['item'] },
);

function bodyOf(events: readonly object[], mediaType: MediaType, gap: string): string {
  const texts = events.map((each) => JSON.stringify(each).replaceAll('":', `":${gap}`));
  return mediaType === 'application/json' ? `[${texts.join(`,${gap}`)}]` : texts.join('\n');
}

describe('the scanner of plain events', () => {
  test('says of every body what the parser says, or nothing', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: EVENTS_MAX + 1 }),
        fc.constantFrom(...MEDIA_TYPES),
        fc.constantFrom('', ' ', '\n', '\t'),
        (events, mediaType, gap) => {
          const body = Buffer.from(bodyOf(events, mediaType, gap));
          const scanned = scanEvents(body, mediaType, EVENTS_MAX);
          if (scanned !== null) expect(scanned).toEqual(parsed(body, mediaType));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('says of a body with some bytes changed what the parser says, or nothing', () => {
    const bytes = fc.oneof(
      fc.nat(255),
      fc.constantFrom(...Buffer.from(' \n\t"\\{}[]:,0-.eitemds')),
    );
    const changes = fc.array(fc.tuple(fc.nat(), bytes, fc.nat(2)), { minLength: 1, maxLength: 3 });
    let scannedCount = 0;
    fc.assert(
      fc.property(
        fc.array(plainEvent, { minLength: 1, maxLength: 3 }),
        fc.constantFrom(...MEDIA_TYPES),
        changes,
        (events, mediaType, edits) => {
          let body = Buffer.from(bodyOf(events, mediaType, ''));
          for (const [place, byte, removed] of edits) {
            const at = place % body.length;
            const rest = body.subarray(at + removed);
            body = Buffer.concat([body.subarray(0, at), Buffer.of(byte), rest]);
          }
          const scanned = scanEvents(body, mediaType, EVENTS_MAX);
          if (scanned === null) return;
          scannedCount += 1;
          expect(scanned).toEqual(parsed(body, mediaType));
        },
      ),
      { numRuns: 4_000 },
    );
    expect(scannedCount).toBeGreaterThan(100);
  });

  test('reads what programs usually write, with all fields and with few', () => {
    fc.assert(
      fc.property(
        fc.array(plainEvent, { minLength: 1, maxLength: EVENTS_MAX }),
        fc.constantFrom(...MEDIA_TYPES),
        fc.constantFrom('', ' '),
        (events, mediaType, gap) => {
          const body = Buffer.from(bodyOf(events, mediaType, gap));
          const scanned = scanEvents(body, mediaType, EVENTS_MAX);
          expect(scanned).not.toBeNull();
          expect(scanned).toEqual(parsed(body, mediaType));
        },
      ),
    );
  });

  test('reads a stream, blanks between all parts, and blank lines', () => {
    const event = { index: 0, stream: 's', item: 'a', actor: null, count: 2, atMs: 5, dims: null };
    const text = ' { "at" : 5 , "item" : "a" , "count" : 2 , "stream" : "s" } ';
    expect(scan(` [${text}] `)).toEqual({ events: [event], rejections: [] });
    const lines = `\n${text}\n \n${text}\n\n`;
    expect(scan(lines, 'application/x-ndjson')).toEqual({
      events: [event, { ...event, index: 1 }],
      rejections: [],
    });
  });

  test('reads dimensions up to 8, names up to 64 bytes and values up to 128', () => {
    const dims = Object.fromEntries(
      Array.from({ length: 8 }, (_, index) => [String(index).repeat(64), 'v'.repeat(128)]),
    );
    expect(scan(JSON.stringify([{ item: 'a', dims }]))?.events).toMatchObject([{ dims }]);
    const nine = { ...dims, a: 'x' };
    expect(scan(JSON.stringify([{ item: 'a', dims: nine }]))).toBeNull();
    expect(scan(JSON.stringify([{ item: 'a', dims: { ['a'.repeat(65)]: 'x' } }]))).toBeNull();
    expect(scan(JSON.stringify([{ item: 'a', dims: { a: 'v'.repeat(129) } }]))).toBeNull();
  });

  test.each([
    ['no dimension', '[{"item":"a","dims":{}}]'],
    ['a dimension twice', '[{"item":"a","dims":{"b":"c","b":"d"}}]'],
    ['a dimension named __proto__', '[{"item":"a","dims":{"__proto__":"c"}}]'],
    ['a dimension named toString', '[{"item":"a","dims":{"toString":"c"}}]'],
    ['a value that is a number', '[{"item":"a","dims":{"b":1}}]'],
    ['dimensions that are none', '[{"item":"a","dims":null}]'],
    ['an empty list', '[]'],
    ['one event without a list', '{"item":"a"}'],
    ['more events than allowed', `[${'{"item":"a"},'.repeat(EVENTS_MAX)}{"item":"a"}]`],
    ['an event without an item', '[{"count":1}]'],
    ['an empty item', '[{"item":""}]'],
    ['an empty actor', '[{"item":"a","actor":""}]'],
    ['a number that is missing', '[{"item":"a","at":}]'],
    ['a name that is no name', '[{":,"item":"a"}]'],
    ['a field twice', '[{"item":"a","item":"b"}]'],
    ['a field that is not known', '[{"item":"a","items":"b"}]'],
    ['an escape', '[{"item":"\\u0041"}]'],
    ['text beyond ASCII', '[{"item":"é"}]'],
    ['a control character', '[{"item":"a\u0001"}]'],
    ['an item that is too long', `[{"item":"${'x'.repeat(513)}"}]`],
    ['a stream that is too long', `[{"item":"a","stream":"${'x'.repeat(129)}"}]`],
    ['a leading zero', '[{"item":"a","count":01}]'],
    ['a fraction', '[{"item":"a","count":1.0}]'],
    ['an exponent', '[{"item":"a","count":1e3}]'],
    ['a count that is too large', '[{"item":"a","count":1000001}]'],
    ['a count of nothing', '[{"item":"a","count":0}]'],
    ['a time before 1970', '[{"item":"a","at":-1}]'],
    ['a time as text', '[{"item":"a","at":"2026-11-30T10:00:00Z"}]'],
    ['more digits than are safe', '[{"item":"a","at":1000000000000000}]'],
    ['a comma too many', '[{"item":"a"},]'],
    ['something behind the list', '[{"item":"a"}]x'],
    ['a cut', '[{"item":"a'],
    ['a byte order mark', '\ufeff[{"item":"a"}]'],
    ['nothing', ''],
  ])('leaves %s to the parser', (_, body) => {
    expect(scan(body)).toBeNull();
  });

  test('leaves lines to the parser that are one only together', () => {
    expect(scan('{"item":\n"a"}', 'application/x-ndjson')).toBeNull();
    expect(scan('{"item":"a"} {"item":"b"}', 'application/x-ndjson')).toBeNull();
  });
});
