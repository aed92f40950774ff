import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { eventsAnswer } from '../../src/api/answer-schemas.ts';
import { OutcomeUnknownError } from '../../src/lib/store-errors.ts';
import {
  type Answer,
  answerOf,
  gate,
  rawRequest,
  START_MS,
  startTestTally,
  type TestTally,
} from '../support/tally.ts';
import { until } from '../support/until.ts';

let tally: TestTally;
afterEach(() => tally.close());

async function countOf(item: string, stream = 'default'): Promise<unknown> {
  await tally.fold();
  const path = `/v1/streams/${encodeURIComponent(stream)}/items/${encodeURIComponent(item)}`;
  return (await tally.get(path)).json['count'];
}

describe('shapes of a body', () => {
  test.for([
    ['a list', [{ item: 'a' }, { item: 'a' }]],
    ['{"events": [...]}', { events: [{ item: 'a' }, { item: 'a' }] }],
    ['one event', { item: 'a', count: 2 }],
  ])('%s is taken', async ([, body]) => {
    tally = await startTestTally();
    const answer = await tally.send(body);
    expect(answer.status).toBe(202);
    expect(eventsAnswer.parse(answer.json)).toMatchObject({ rejected: 0, duplicate: 0 });
    expect(await countOf('a')).toBe(2);
  });

  test('NDJSON is taken line by line, and a line that is no JSON is rejected by its index', async () => {
    tally = await startTestTally();
    const lines = '{"item":"a"}\r\n\n  \nnot json\n[1]\n{"item":"a"}';
    const answer = await tally.send(lines, { type: 'application/x-ndjson; charset=UTF-8' });
    expect(answer.json).toEqual({
      accepted: 2,
      rejected: 2,
      duplicate: 0,
      errors: [
        { index: 1, code: 'invalid_line', message: 'the line cannot be parsed as JSON' },
        { index: 2, code: 'invalid_event', message: 'expected an object' },
      ],
    });
    expect(await countOf('a')).toBe(2);
  });

  test('gzip is taken, of one member or several, and a byte order mark is skipped', async () => {
    tally = await startTestTally();
    const headers = { 'content-encoding': 'gzip' };
    const whole = gzipSync('\ufeff[{"item":"a"}]');
    const halves = Buffer.concat([gzipSync('[{"item":'), gzipSync('"a"}]')]);
    for (const body of [whole, halves]) {
      expect((await tally.send(body, { headers })).json).toMatchObject({ accepted: 1 });
    }
  });

  test('an empty list and empty NDJSON are accepted and make nothing', async () => {
    tally = await startTestTally();
    expect((await tally.send([])).json).toMatchObject({ accepted: 0, rejected: 0 });
    const empty = await tally.send('', { type: 'application/x-ndjson' });
    expect(empty.json).toMatchObject({ accepted: 0, rejected: 0 });
    await tally.fold();
    expect((await tally.get('/v1/streams')).json).toEqual({ streams: [], next: null });
  });

  test.for([
    ['no JSON', '{"item"', 'invalid_json'],
    ['nothing', '', 'invalid_json'],
    ['deep nonsense', '['.repeat(200_000), 'invalid_json'],
    ['a number', '5', 'invalid_body'],
    ['null', 'null', 'invalid_body'],
    ['a text', '"a"', 'invalid_body'],
    ['events that are no list', '{"events":{"item":"a"}}', 'invalid_body'],
    ['something beside events', '{"events":[],"item":"a"}', 'invalid_body'],
  ])('%s is refused as a whole', async ([, body, code]) => {
    tally = await startTestTally();
    const answer = await tally.send(body);
    expect(answer.status).toBe(400);
    expect(answer.json['code']).toBe(code);
  });

  test('bytes that are not UTF-8 are refused as a whole', async () => {
    tally = await startTestTally();
    const body = Buffer.from('[{"item":"\xff"}]', 'latin1');
    expect((await tally.send(body)).json['code']).toBe('invalid_utf8');
  });

  test.for([
    ['no gzip at all', Buffer.from('[{"item":"a"}]')],
    ['a gzip that is cut off', gzipSync('[{"item":"abcdefghijklmnop"}]').subarray(0, 20)],
  ])('%s is refused as a whole', async ([, body]) => {
    tally = await startTestTally();
    const answer = await tally.send(body, { headers: { 'content-encoding': 'gzip' } });
    expect(answer.json['code']).toBe('invalid_gzip');
  });

  test.for(['text/plain', 'application/json; charset=latin1', 'application/jsonx'])(
    'a body declared as %s is refused',
    async (type) => {
      tally = await startTestTally();
      const answer = await tally.send('[]', { type });
      expect([answer.status, answer.json['code']]).toEqual([415, 'unsupported_media_type']);
    },
  );

  test('a body without a type and one in another encoding are refused', async () => {
    tally = await startTestTally();
    const untyped = await tally.send(Buffer.from('[]'), { type: null });
    expect([untyped.status, untyped.json['code']]).toEqual([415, 'unsupported_media_type']);
    const brotli = await tally.send('[]', { headers: { 'content-encoding': 'br' } });
    expect([brotli.status, brotli.json['code']]).toEqual([415, 'unsupported_encoding']);
  });
});

describe('fields of an event', () => {
  const long = (bytes: number): string => 'é'.repeat(bytes / 2);

  test.for([
    ['an item of 512 bytes', JSON.stringify({ item: long(512) })],
    ['any characters', JSON.stringify({ item: '\0{}: \u{1f3cf}\n', stream: ' {a}', actor: '\0' })],
    ['a stream of 128 bytes', JSON.stringify({ item: 'a', stream: long(128) })],
    ['a count of a million', '{"item":"a","count":1000000}'],
    ['a count written as 1.0', '{"item":"a","count":1.0}'],
    ['a time in epoch milliseconds', JSON.stringify({ item: 'a', at: START_MS })],
    ['a time with an offset', '{"item":"a","at":"2026-11-30T16:15:00+05:45"}'],
    ['a time with a fraction', '{"item":"a","at":"2026-11-30T10:29:59.123456Z"}'],
    ['a leap day', '{"item":"a","at":"2024-02-29T00:00:00Z"}', 'too_old'],
    ['the last of two equal keys', '{"item":5,"item":"a"}'],
  ])('%s is accepted, or rejected for its age only', async ([, body, code = null]) => {
    tally = await startTestTally();
    const { json } = await tally.send(body as string);
    const [error] = eventsAnswer.parse(json).errors;
    expect(error?.code ?? null).toBe(code);
  });

  test.for([
    ['no item', '{}', 'invalid_event'],
    ['an empty item', '{"item":""}', 'invalid_event'],
    ['an item of 513 bytes', JSON.stringify({ item: `${long(512)}a` }), 'invalid_event'],
    ['an item that is a number', '{"item":1}', 'invalid_event'],
    ['a lone surrogate', '{"item":"\\ud800"}', 'invalid_event'],
    [
      'a stream of 129 bytes',
      JSON.stringify({ item: 'a', stream: `${long(128)}a` }),
      'invalid_event',
    ],
    ['an empty stream', '{"item":"a","stream":""}', 'invalid_event'],
    ['an empty actor', '{"item":"a","actor":""}', 'invalid_event'],
    ['a null actor', '{"item":"a","actor":null}', 'invalid_event'],
    ['a count of 0', '{"item":"a","count":0}', 'invalid_event'],
    ['a count of -0', '{"item":"a","count":-0}', 'invalid_event'],
    ['a count of a million and one', '{"item":"a","count":1000001}', 'invalid_event'],
    ['a broken count', '{"item":"a","count":1.5}', 'invalid_event'],
    ['an infinite count', '{"item":"a","count":1e400}', 'invalid_event'],
    ['a count as text', '{"item":"a","count":"1"}', 'invalid_event'],
    ['a time without offset', '{"item":"a","at":"2026-11-30T10:00:00"}', 'invalid_event'],
    ['a date only', '{"item":"a","at":"2026-11-30"}', 'invalid_event'],
    ['a day that does not exist', '{"item":"a","at":"2026-02-29T10:00:00Z"}', 'invalid_event'],
    ['an hour that does not exist', '{"item":"a","at":"2026-11-30T24:00:00Z"}', 'invalid_event'],
    ['a time as broken number', '{"item":"a","at":1.5}', 'invalid_event'],
    ['a field that is not known', '{"item":"a","user":"b"}', 'unknown_field'],
    ['a field named __proto__', '{"item":"a","__proto__":{}}', 'unknown_field'],
    ['a list as dims', '{"item":"a","dims":[]}', 'invalid_event'],
    ['null as dims', '{"item":"a","dims":null}', 'invalid_event'],
    ['a number as value', '{"item":"a","dims":{"b":1}}', 'invalid_event'],
    ['an empty value', '{"item":"a","dims":{"b":""}}', 'invalid_event'],
    ['an empty dimension', '{"item":"a","dims":{"":"b"}}', 'invalid_event'],
    [
      'a dimension of 65 bytes',
      JSON.stringify({ item: 'a', dims: { ['é'.repeat(32).concat('a')]: 'b' } }),
      'invalid_event',
    ],
    [
      'a value of 129 bytes',
      JSON.stringify({ item: 'a', dims: { b: `${long(128)}a` } }),
      'invalid_event',
    ],
    [
      'nine dimensions',
      JSON.stringify({
        item: 'a',
        dims: Object.fromEntries(Array.from('123456789', (n) => [n, n])),
      }),
      'invalid_event',
    ],
    ['a list', '[]', 'invalid_event'],
    ['null', 'null', 'invalid_event'],
    ['a time of long ago', '{"item":"a","at":0}', 'too_old'],
    ['a time before 1970', '{"item":"a","at":-1}', 'too_old'],
    ['a far future', '{"item":"a","at":9007199254740991}', 'too_new'],
  ])('%s is rejected by index and the others go on', async ([, event, code]) => {
    tally = await startTestTally();
    const { status, json } = await tally.send(`[{"item":"good"},${event},{"item":"good"}]`);
    expect(status).toBe(202);
    const answer = eventsAnswer.parse(json);
    expect(answer).toMatchObject({ accepted: 2, rejected: 1, errors: [{ index: 1, code }] });
    expect(await countOf('good')).toBe(2);
  });

  test('a request of which everything is rejected is still answered 202', async () => {
    tally = await startTestTally();
    const { status, json } = await tally.send([{}, {}]);
    expect(status).toBe(202);
    expect(json).toMatchObject({ accepted: 0, rejected: 2 });
  });

  test('events a minute ahead are taken, and a millisecond more is too new', async () => {
    tally = await startTestTally();
    const ahead = (ms: number) => ({ item: 'a', at: START_MS + ms });
    const { json } = await tally.send([ahead(60_000), ahead(60_001)]);
    expect(json).toMatchObject({ accepted: 1, errors: [{ index: 1, code: 'too_new' }] });
  });

  test('the list of errors ends after 100, their number does not', async () => {
    tally = await startTestTally();
    const { json } = await tally.send(Array.from({ length: 150 }, () => ({})));
    const answer = eventsAnswer.parse(json);
    expect(answer.rejected).toBe(150);
    expect(answer.errors.map(({ index }) => index)).toEqual(Array.from(Array(100).keys()));
  });
});

describe('limits of a request', () => {
  test('as many events as allowed are taken, one more is refused whole', async () => {
    tally = await startTestTally({ env: { TALLY_MAX_EVENTS_PER_REQUEST: '3' } });
    const events = (count: number) => Array.from({ length: count }, () => ({ item: 'a' }));
    expect((await tally.send(events(3))).status).toBe(202);
    const ndjson = `${'{"item":"a"}\n'.repeat(4)}`;
    for (const refused of [
      await tally.send(events(4)),
      await tally.send(ndjson, { type: 'application/x-ndjson' }),
    ]) {
      expect([refused.status, refused.json['code']]).toEqual([413, 'too_many_events']);
    }
    expect(await countOf('a')).toBe(3);
  });

  test.for(['plain', 'gzip', 'chunked'])('a %s body may have its limit of bytes', async (kind) => {
    tally = await startTestTally({ env: { TALLY_MAX_BODY_BYTES: '2000' } });
    const body = (bytes: number): Buffer => Buffer.from('[{"item":"a"}]'.padEnd(bytes, ' '));
    const post = (bytes: number) => {
      if (kind === 'gzip') {
        const headers = { 'content-encoding': 'gzip' };
        return tally.send(gzipSync(body(bytes)), { headers });
      }
      return kind === 'plain' ? tally.send(body(bytes)) : sendChunked(body(bytes));
    };
    expect((await post(2000)).status).toBe(202);
    const refused = await post(2001);
    expect([refused.status, refused.json['code']]).toEqual([413, 'body_too_large']);
  });

  test('a gzip bomb is stopped at the limit', async () => {
    tally = await startTestTally({ env: { TALLY_MAX_BODY_BYTES: '65536' } });
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
    const answer = await tally.send(bomb, { headers: { 'content-encoding': 'gzip' } });
    expect([answer.status, answer.json['code']]).toEqual([413, 'body_too_large']);
    expect((await tally.send([{ item: 'a' }])).status).toBe(202);
  });

  test('bodies that are being worked on have a limit together, which ends with them', async () => {
    const env = { TALLY_MAX_BODY_BYTES: '2000', TALLY_MAX_BODY_BYTES_IN_FLIGHT: '3000' };
    tally = await startTestTally({ env });
    const { opened, open } = gate();
    tally.control.before = (method) => (method === 'append' ? opened : Promise.resolve());
    const body = '[{"item":"a"}]'.padEnd(1600, ' ');
    const first = tally.send(body);
    await until('the first one is at the store', async () => tally.control.calls.has('append'));
    const second = await tally.send(body);
    expect([second.status, second.json['code']]).toEqual([503, 'overloaded']);
    expect(second.headers.get('retry-after')).toBe('1');
    open();
    expect((await first).status).toBe(202);
    expect((await tally.send(body)).status).toBe(202);
  });
});

describe('strict requests', () => {
  test('one bad event refuses all, and the answer lists what was bad', async () => {
    tally = await startTestTally();
    const path = '/v1/events?strict=true';
    const bad = await tally.send([{ item: 'a' }, { item: '' }, { item: 'a', at: 0 }], { path });
    expect(bad.status).toBe(400);
    expect(bad.json).toMatchObject({
      code: 'strict_rejected',
      index: 1,
      rejected: 2,
      errors: [
        { index: 1, code: 'invalid_event' },
        { index: 2, code: 'too_old' },
      ],
    });
    expect(await countOf('a')).toBe(0);
    expect((await tally.send([{ item: 'a' }], { path })).json).toMatchObject({ accepted: 1 });
  });

  test('a strict refusal does not use the key', async () => {
    tally = await startTestTally();
    const options = { path: '/v1/events?strict=true', headers: { 'idempotency-key': 'k' } };
    expect((await tally.send([{}], options)).status).toBe(400);
    expect((await tally.send([{ item: 'a' }], options)).json).toMatchObject({ accepted: 1 });
  });
});

describe('idempotency', () => {
  const headers = { 'idempotency-key': 'key 1' };

  test('a retry adds nothing and answers as the first did, also when time has passed', async () => {
    tally = await startTestTally();
    const batch = [{ item: 'a', count: 2 }, {}, { item: 'b', at: START_MS + 90_000 }];
    const first = await tally.send(batch, { headers });
    expect(first.json).toMatchObject({ accepted: 1, rejected: 2, duplicate: 0 });
    await tally.clock.advance(120_000);
    const retry = await tally.send(batch, { headers });
    expect(retry.status).toBe(202);
    expect(retry.json).toEqual({ ...first.json, accepted: 0, duplicate: 1 });
    expect(await countOf('a')).toBe(2);
    expect(await countOf('b')).toBe(0);
  });

  test('50 copies at once are counted once', async () => {
    tally = await startTestTally({ partitions: 3 });
    const copies = Array.from({ length: 50 }, () => tally.send([{ item: 'a' }], { headers }));
    const answers = (await Promise.all(copies)).map(({ json }) => eventsAnswer.parse(json));
    const sum = (name: 'accepted' | 'duplicate'): number =>
      answers.reduce((total, answer) => total + answer[name], 0);
    expect([sum('accepted'), sum('duplicate')]).toEqual([1, 49]);
    expect(await countOf('a')).toBe(1);
  });

  test('gzip and plain are the same body, and strict is no part of it', async () => {
    tally = await startTestTally();
    const text = '[{"item":"a"}]';
    await tally.send(text, { headers });
    const retry = await tally.send(gzipSync(text), {
      path: '/v1/events?strict=true',
      headers: { ...headers, 'content-encoding': 'gzip' },
    });
    expect(retry.json).toMatchObject({ accepted: 0, duplicate: 1 });
  });

  test('the same key with another body is refused', async () => {
    tally = await startTestTally();
    await tally.send([{ item: 'a' }], { headers });
    const other = await tally.send([{ item: 'b' }], { headers });
    expect([other.status, other.json['code']]).toEqual([422, 'key_reused']);
    expect(await countOf('b')).toBe(0);
  });

  test('a key has 1 to 512 bytes and is sent once', async () => {
    tally = await startTestTally();
    const withKey = (key: string) =>
      tally.send([{ item: 'a' }], { headers: { 'idempotency-key': key } });
    expect((await withKey('k'.repeat(512))).status).toBe(202);
    for (const refused of [await withKey('k'.repeat(513)), await withKey('')]) {
      expect([refused.status, refused.json['code']]).toEqual([400, 'invalid_header']);
    }
    const twice = await rawRequest(tally.url, 'POST', '/v1/events', {
      'content-type': 'application/json',
      'idempotency-key': ['a', 'b'],
    });
    expect([twice.status, JSON.parse(twice.text).code]).toEqual([400, 'invalid_header']);
  });
});

describe('refusals of the store', () => {
  test('too much that waits to be folded: 503, and again accepted after the fold', async () => {
    tally = await startTestTally({ env: { TALLY_MAX_BACKLOG_ENTRIES: '2' } });
    const send = () => tally.send([{ item: 'a' }]);
    expect([(await send()).status, (await send()).status]).toEqual([202, 202]);
    const refused = await send();
    expect([refused.status, refused.json['code']]).toEqual([503, 'backlog_full']);
    expect(refused.headers.get('retry-after')).toBe('1');
    await tally.fold();
    expect((await send()).status).toBe(202);
  });

  test('too many keys that are remembered: 503', async () => {
    tally = await startTestTally({ env: { TALLY_MAX_REMEMBERED_IDS: '1' } });
    const send = (key: string) =>
      tally.send([{ item: 'a' }], { headers: { 'idempotency-key': key } });
    expect((await send('a')).status).toBe(202);
    const refused = await send('b');
    expect([refused.status, refused.json['code']]).toEqual([503, 'ids_full']);
    expect(refused.headers.get('retry-after')).toBe('60');
    expect((await send('a')).json).toMatchObject({ duplicate: 1 });
  });

  test('an outcome that stays unknown: 503, and the retry is counted once', async () => {
    tally = await startTestTally();
    tally.control.before = async (method) => {
      if (method === 'append') throw new OutcomeUnknownError();
    };
    const headers = { 'idempotency-key': 'k' };
    const pending = tally.send([{ item: 'a' }], { headers });
    let isAnswered = false;
    void pending.then(() => {
      isAnswered = true;
    });
    await until('the repeats are over', async () => {
      await tally.clock.advance(100);
      return isAnswered;
    });
    const unknown = await pending;
    expect([unknown.status, unknown.json['code']]).toEqual([503, 'outcome_unknown']);
    expect(unknown.headers.get('retry-after')).toBe('1');
    tally.control.before = async () => {};
    expect((await tally.send([{ item: 'a' }], { headers })).json).toMatchObject({ accepted: 1 });
  });
});

/** Without a length announced beforehand. */
function sendChunked(body: Buffer): Promise<Answer> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Blob([new Uint8Array(body)]).stream(),
    duplex: 'half',
  };
  return answerOf(fetch(`${tally.url}/v1/events`, init as RequestInit));
}
