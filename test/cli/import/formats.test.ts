import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCsvRecord } from '../../../src/cli/import/csv.ts';
import {
  createParser,
  type Format,
  formatOfName,
  JSON_BYTES_MAX,
} from '../../../src/cli/import/formats.ts';
import {
  type FieldChoice,
  type ImportEvent,
  LINE_BYTES_MAX,
  type ParsedLine,
} from '../../../src/cli/import/parsed-line.ts';

const USUAL: FieldChoice = { item: null, actor: null };

function parse(format: Format, input: string | Buffer, fields = USUAL): ParsedLine[] {
  const parser = createParser(format, fields);
  return [...parser.push(Buffer.from(input)), ...parser.end()];
}

/** Events as they are, bad lines as `line: problem`. */
function outline(lines: readonly ParsedLine[]): (ImportEvent | string)[] {
  return lines.map((line) => ('event' in line ? line.event : `${line.line}: ${line.problem}`));
}

test.each([
  ['access.log', 'combined'],
  ['access.log.gz', 'combined'],
  ['access.log.3', 'combined'],
  ['access.log.3.gz', 'combined'],
  ['a.ndjson', 'ndjson'],
  ['a.JSONL.GZ', 'ndjson'],
  ['a.csv', 'csv'],
  ['a.json', 'json'],
  ['a.txt', null],
  ['log', null],
])('the name %s tells the format %s', (name, format) => {
  expect(formatOfName(name)).toBe(format);
});

describe('lines', () => {
  test('end at \\n or \\r\\n, the last one at the end of the input, and empty ones are passed over', () => {
    const input = '\ufeff{"item":"a"}\r\n\r\n\n{"item":"b"}\n{"item":"c"}';
    const lines = parse('ndjson', input);
    expect(outline(lines)).toEqual([{ item: 'a' }, { item: 'b' }, { item: 'c' }]);
    expect(lines.map(({ line }) => line)).toEqual([1, 4, 5]);
  });

  test('one that is not UTF-8 is a bad line, and its neighbours are not', () => {
    const bad = Buffer.from([0x7b, 0xff, 0xfe, 0x1b, 0x0a]);
    const input = Buffer.concat([Buffer.from('{"item":"a"}\n'), bad, Buffer.from('{"item":"b"}')]);
    const lines = parse('ndjson', input);
    expect(outline(lines)).toEqual([
      { item: 'a' },
      '2: the line is not valid UTF-8',
      { item: 'b' },
    ]);
    expect(lines[1]).toMatchObject({ excerpt: '{\ufffd\ufffd\\u{1b}' });
  });

  test('one over the limit is a bad line, one at the limit is read', () => {
    const ofLength = (bytes: number): string => {
      return `{"item":"a"}`.padEnd(bytes, ' ');
    };
    const input = `${ofLength(LINE_BYTES_MAX)}\r\n${ofLength(LINE_BYTES_MAX + 1)}\n{"item":"b"}\n`;
    expect(outline(parse('ndjson', input))).toEqual([
      { item: 'a' },
      `2: the line is longer than ${LINE_BYTES_MAX} bytes`,
      { item: 'b' },
    ]);
  });

  test('come out the same however the bytes arrive', () => {
    const input = Buffer.from('{"item":"é"}\r\n{"item":"日本"}\nnot json\n{"item":"x"}');
    const whole = parse('ndjson', input);
    fc.assert(
      fc.property(fc.array(fc.nat(input.length), { maxLength: 10 }), (cuts) => {
        const parser = createParser('ndjson', USUAL);
        const edges = [0, ...cuts.sort((a, b) => a - b), input.length];
        const lines = edges.flatMap((edge, index) =>
          parser.push(input.subarray(edge, edges[index + 1])),
        );
        expect([...lines, ...parser.end()]).toEqual(whole);
      }),
    );
  });
});

describe('ndjson', () => {
  test('takes the events of the API', () => {
    const input = [
      '{"item":"a","stream":"s","actor":"u","count":3,"at":1700000000000}',
      '{"item":"a","at":"2024-03-09T21:15:56.250+01:00"}',
      '{"item":"a","dims":{"country":"IN","device":"tv"}}',
    ].join('\n');
    expect(outline(parse('ndjson', input))).toEqual([
      { item: 'a', stream: 's', actor: 'u', count: 3, atMs: 1_700_000_000_000 },
      { item: 'a', atMs: Date.UTC(2024, 2, 9, 20, 15, 56, 250) },
      { item: 'a', dims: { country: 'IN', device: 'tv' } },
    ]);
  });

  test.each([
    ['not json', 'not JSON'],
    ['[1]', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['{"item":"a","x":1}', 'unknown field "x"'],
    ['{"actor":"a"}', 'no text in field "item"'],
    ['{"item":5}', 'no text in field "item"'],
    ['{"item":""}', 'item is empty'],
    [`{"item":"${'é'.repeat(257)}"}`, 'item is longer than 512 bytes'],
    ['{"item":"\\ud800"}', 'item is not valid Unicode'],
    ['{"item":"a","actor":""}', 'actor is empty'],
    ['{"item":"a","actor":7}', 'actor is not a text'],
    ['{"item":"a","stream":".."}', 'stream must not be ".."'],
    ['{"item":"a","stream":null}', 'stream is not a text'],
    ['{"item":"a","count":0}', 'count is not a whole number from 1 to 1000000'],
    ['{"item":"a","count":1000001}', 'count is not a whole number from 1 to 1000000'],
    ['{"item":"a","count":1.5}', 'count is not a whole number from 1 to 1000000'],
    ['{"item":"a","count":"1"}', 'count is not a number'],
    ['{"item":"a","at":-1}', 'at is not a time in epoch ms'],
    ['{"item":"a","at":"2024-02-30T00:00:00Z"}', 'at is neither epoch ms nor ISO 8601'],
    ['{"item":"a","at":"2024-02-03T00:00:00"}', 'at is neither epoch ms nor ISO 8601'],
    ['{"item":"a","at":null}', 'at is neither epoch ms nor ISO 8601'],
    ['{"item":"a","dims":null}', 'dims is not an object of texts'],
    ['{"item":"a","dims":["IN"]}', 'dims is not an object of texts'],
    ['{"item":"a","dims":{"n":1}}', 'dims is not an object of texts'],
    ['{"item":"a","dims":{"n":""}}', 'dims.n is empty'],
    ['{"item":"a","dims":{"":"v"}}', 'the name of a dimension is empty'],
    [
      `{"item":"a","dims":{"${'n'.repeat(65)}":"v"}}`,
      'the name of a dimension is longer than 64 bytes',
    ],
    [`{"item":"a","dims":{"n":"${'v'.repeat(129)}"}}`, 'dims.n is longer than 128 bytes'],
    [
      '{"item":"a","dims":{"1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":"","9":""}}',
      'dims names more than 8 dimensions',
    ],
    ['{"__proto__":{"item":"a"}}', 'unknown field "__proto__"'],
  ])('%s is a bad line', (line, problem) => {
    const [outcome] = outline(parse('ndjson', line));
    expect(outcome).toContain(`1: ${problem}`);
  });

  test("takes somebody else's records by the fields that are named", () => {
    const fields = { item: 'url', actor: 'userId' };
    const input = '{"url":"/a","userId":12,"agent":"x","at":5}\n{"url":"/b"}\n{"userId":3}';
    expect(outline(parse('ndjson', input, fields))).toEqual([
      { item: '/a', actor: '12', atMs: 5 },
      { item: '/b' },
      '3: no text in field "url"',
    ]);
  });
});

describe('json', () => {
  test.each(['[{"item":"a"},{"item":"b"}]', '{"events":[{"item":"a"},{"item":"b"}]}'])(
    '%s holds two events',
    (document) => {
      expect(outline(parse('json', document))).toEqual([{ item: 'a' }, { item: 'b' }]);
    },
  );

  test('one event may stand alone, and a bad one is told by its place', () => {
    expect(outline(parse('json', '{"item":"a"}'))).toEqual([{ item: 'a' }]);
    expect(outline(parse('json', '[{"item":"a"},7]'))).toEqual([
      { item: 'a' },
      '2: not a JSON object',
    ]);
  });

  test.each(['', '[', '{"events":7}', '"\xff'])('%j is not a document of events', (document) => {
    expect(() => parse('json', Buffer.from(document, 'latin1'))).toThrow(/JSON|UTF-8|not an array/);
  });

  test('a document over the limit is refused before it is held', () => {
    const parser = createParser('json', USUAL);
    const chunk = Buffer.alloc(JSON_BYTES_MAX / 4, ' ');
    for (let count = 0; count < 4; count += 1) parser.push(chunk);
    expect(() => parser.push(Buffer.from(' '))).toThrow(/use ndjson/);
  });
});

describe('csv', () => {
  test('takes its columns by the header row, in any order', () => {
    const input = [
      'at,item,other,actor,count,stream',
      '2024-03-09T21:15:56Z,/a,x,u1,2,s',
      '1700000000000,"/b,c",,,,',
      ',"say ""hi""\r\nthere",,"",,""',
    ].join('\r\n');
    expect(outline(parse('csv', input))).toEqual([
      { item: '/a', stream: 's', actor: 'u1', count: 2, atMs: Date.UTC(2024, 2, 9, 21, 15, 56) },
      { item: '/b,c', atMs: 1_700_000_000_000 },
      { item: 'say "hi"\r\nthere' },
    ]);
  });

  test('columns named dims.NAME hold the values of dimensions', () => {
    const input = 'dims.country,item,dims.device,dims\nIN,/a,tv,x\n,/b,,\nFR,/c,,\n';
    expect(outline(parse('csv', input))).toEqual([
      { item: '/a', dims: { country: 'IN', device: 'tv' } },
      { item: '/b' },
      { item: '/c', dims: { country: 'FR' } },
    ]);
  });

  test('--item and --actor name other columns', () => {
    const lines = parse('csv', 'url,who\n/a,me\n', { item: 'url', actor: 'who' });
    expect(outline(lines)).toEqual([{ item: '/a', actor: 'me' }]);
  });

  test.each([
    ['url,actor\n', /no column "item"/],
    ['item,item\n', /two columns "item"/],
    ['item,dims.a,dims.a\n', /two columns "dims.a"/],
  ])('the header %j is refused', (input, problem) => {
    expect(() => parse('csv', input)).toThrow(problem);
  });

  test('bad rows are told by their first line, and those after them are read', () => {
    const input = [
      'item,count,at',
      'a,1',
      'b,x,',
      '"c"d,1,',
      ',1,',
      'e,1,yesterday',
      'f,0,',
      '"g',
      'h"x,1,',
      'i,1,',
      '"never closed',
      'j,1,',
    ].join('\n');
    expect(outline(parse('csv', input))).toEqual([
      '2: 2 fields where the header row has 3',
      '3: count is not a whole number',
      '4: something follows a closing quote',
      '5: item is empty',
      '6: at is neither epoch ms nor ISO 8601 with an offset',
      '7: count is not a whole number from 1 to 1000000',
      '8: something follows a closing quote',
      { item: 'i', count: 1 },
      '11: a quote is never closed',
    ]);
  });

  test('a quote that is never closed swallows no more than a record may hold', () => {
    const filler = `${'x'.repeat(99)}\n`.repeat(LINE_BYTES_MAX / 100 + 2);
    const lines = outline(parse('csv', `item\n"open\n${filler}z\n`));
    expect(lines[0]).toBe(`2: the record is longer than ${LINE_BYTES_MAX} characters`);
    expect(lines.at(-1)).toEqual({ item: 'z' });
  });

  test('every record that RFC 4180 can write is read back', () => {
    const record = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(record, fc.boolean(), (fields, quoteAll) => {
        const text = fields
          .map((field) =>
            quoteAll || /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field,
          )
          .join(',');
        expect(parseCsvRecord(text)).toEqual(fields);
      }),
    );
  });
});
