import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCombinedLine } from '../../../src/cli/import/combined-log.ts';

const USUAL = { item: null, actor: null };
const AT_MS = Date.UTC(2000, 9, 10, 20, 55, 36);

function lineWith(parts: Partial<Record<keyof typeof PARTS, string>>): string {
  const { address, user, time, request, status, bytes, rest } = { ...PARTS, ...parts };
  return `${address} - ${user} [${time}] "${request}" ${status} ${bytes}${rest}`;
}

const PARTS = {
  address: '127.0.0.1',
  user: 'frank',
  time: '10/Oct/2000:13:55:36 -0700',
  request: 'GET /apache_pb.gif HTTP/1.0',
  status: '200',
  bytes: '2326',
  rest: ' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"',
};

test("Apache's own example becomes path, address and time", () => {
  expect(parseCombinedLine(lineWith({}), USUAL)).toEqual({
    item: '/apache_pb.gif',
    actor: '127.0.0.1',
    atMs: AT_MS,
  });
});

describe('the path', () => {
  test.each([
    ['GET /a?b=1&c=2 HTTP/1.1', '/a'],
    ['GET /a?b?c HTTP/1.1', '/a'],
    ['GET /a%3Fb%20c HTTP/2.0', '/a%3Fb%20c'],
    ['GET /with space/x HTTP/1.1', '/with space/x'],
    ['GET /HTTP/1.1 HTTP/1.1', '/HTTP/1.1'],
    ['GET /zero-nine', '/zero-nine'],
    ['GET http://example.com/abs?x HTTP/1.1', 'http://example.com/abs'],
    ['OPTIONS * HTTP/1.1', '*'],
    ['PROPFIND /dav/ HTTP/1.1', '/dav/'],
    [String.raw`GET /\"quoted\"\\ HTTP/1.1`, String.raw`/\"quoted\"\\`],
    [String.raw`GET /\xc3\xa9 HTTP/1.1`, String.raw`/\xc3\xa9`],
    ['GET /über?x HTTP/1.1', '/über'],
  ])('of %j is %j, raw as logged', (request, path) => {
    expect(parseCombinedLine(lineWith({ request }), USUAL)).toMatchObject({ item: path });
  });
});

describe('fields', () => {
  test.each([
    ['user', 'frank'],
    ['method', 'GET'],
    ['url', '/a?x=1'],
    ['protocol', 'HTTP/1.1'],
    ['status', '200'],
    ['bytes', '2326'],
    ['referrer', 'http://www.example.com/start.html'],
    ['agent', 'Mozilla/4.08 [en] (Win98; I ;Nav)'],
  ])('--item %s takes %j', (field, value) => {
    const line = lineWith({ request: 'GET /a?x=1 HTTP/1.1' });
    expect(parseCombinedLine(line, { item: field, actor: null })).toMatchObject({ item: value });
    expect(parseCombinedLine(line, { item: null, actor: field })).toMatchObject({ actor: value });
  });

  test('a user with spaces, and an IPv6 address, are taken whole', () => {
    const line = lineWith({ user: 'bob van smith', address: '2001:db8::1' });
    expect(parseCombinedLine(line, { item: 'user', actor: null })).toMatchObject({
      item: 'bob van smith',
      actor: '2001:db8::1',
    });
  });

  test('an actor that was logged as nothing is no actor', () => {
    const event = parseCombinedLine(lineWith({ user: '-' }), { item: null, actor: 'user' });
    expect(event).toEqual({ item: '/apache_pb.gif', atMs: AT_MS });
  });

  test('a request without a path does no harm where the path is not asked for', () => {
    const event = parseCombinedLine(lineWith({ request: '-' }), { item: 'status', actor: null });
    expect(event).toMatchObject({ item: '200' });
  });

  test('the common format lacks referrer and agent, and more fields may follow', () => {
    expect(parseCombinedLine(lineWith({ rest: '' }), USUAL)).toMatchObject({ atMs: AT_MS });
    const more = lineWith({ rest: `${PARTS.rest} "10.0.0.1" 0.004` });
    expect(parseCombinedLine(more, USUAL)).toMatchObject({ atMs: AT_MS });
    expect(parseCombinedLine(lineWith({ rest: '' }), { item: 'agent', actor: null })).toBe(
      'no agent in the line',
    );
  });
});

describe('the time', () => {
  test.each([
    ['29/Feb/2024:23:59:59 +0000', Date.UTC(2024, 1, 29, 23, 59, 59)],
    ['01/Jan/1970:00:00:00 +0000', 0],
    ['01/Jan/2024:00:00:00 +0545', Date.UTC(2023, 11, 31, 18, 15)],
    ['31/Dec/2023:23:30:00 -0030', Date.UTC(2024, 0, 1)],
  ])('%s is %d', (time, atMs) => {
    expect(parseCombinedLine(lineWith({ time }), USUAL)).toMatchObject({ atMs });
  });

  test.each([
    '29/Feb/2023:00:00:00 +0000',
    '31/Apr/2024:00:00:00 +0000',
    '00/Jan/2024:00:00:00 +0000',
    '10/Foo/2024:00:00:00 +0000',
    '10/Oct/2024:24:00:00 +0000',
    '10/Oct/2024:00:60:00 +0000',
    '10/Oct/2024:00:00:60 +0000',
    '10/Oct/2024:00:00:00 +2400',
  ])('%s does not exist', (time) => {
    expect(parseCombinedLine(lineWith({ time }), USUAL)).toBe('the time does not exist');
  });
});

describe('bad lines', () => {
  test.each(['-', '', String.raw`\x16\x03\x01 /`, 'GET', 'GET '])(
    'the request %j has no method and path',
    (request) => {
      expect(parseCombinedLine(lineWith({ request }), USUAL)).toBe(
        'no method and path in the request',
      );
    },
  );

  test.each([
    'garbage',
    lineWith({}).slice(0, 60),
    lineWith({ rest: ' "never closed' }),
    lineWith({ time: '2000-10-10T13:55:36Z' }),
    lineWith({ status: '20' }),
    lineWith({ bytes: '1e3' }),
    lineWith({ request: 'GET /"unescaped" HTTP/1.1' }),
    ` ${lineWith({})}`,
  ])('%j is not in the format', (line) => {
    expect(parseCombinedLine(line, USUAL)).toBe('not in the combined log format');
  });

  test('hostile lines as long as a line may be take no noticeable time', () => {
    for (const part of ['[', ' [', '"', '\\', '\\"', ' ', '[10/Oct/2000:13:55:36 -0700] "']) {
      const line = `a b c ${part.repeat(65_000 / part.length)}`;
      expect(typeof parseCombinedLine(line, USUAL)).toBe('string');
    }
  }, 2_000);
});

test('every line that a server writes is read back', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const plain = word.map((text) => text.replace(/[\s"\\?[\]]/gu, '_'));
  const quoted = word.map((text) => text.replace(/[\n\r]/g, ' ').replace(/["\\]/g, '\\$&'));
  const atMs = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => seconds * 1000);
  fc.assert(
    fc.property(plain, plain, plain, quoted, atMs, (address, user, path, agent, timeMs) => {
      const [, day, month, year, time] =
        /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(new Date(timeMs).toUTCString()) ?? [];
      const line =
        `${address} - ${user} [${day}/${month}/${year}:${time} +0000] ` +
        `"GET /${path}?q=1 HTTP/1.1" 200 17 "-" "${agent}"`;
      const event = { item: `/${path}`, actor: address, atMs: timeMs };
      expect(parseCombinedLine(line, USUAL)).toEqual(
        address === '-' ? { item: `/${path}`, atMs: timeMs } : event,
      );
      expect(parseCombinedLine(line, { item: 'agent', actor: 'user' })).toMatchObject({
        item: agent,
      });
    }),
  );
});
