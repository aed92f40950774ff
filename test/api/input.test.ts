import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { problem } from '../../src/api/answer-schemas.ts';
import { problemType } from '../../src/errors.ts';
import { rawRequest, startTestTally, type TestTally } from '../support/tally.ts';

let tally: TestTally;
beforeAll(async () => {
  tally = await startTestTally();
});
afterAll(() => tally.close());

describe('query parameters', () => {
  test.for([
    ['k=0', 'k'],
    ['k=-1', 'k'],
    ['k=501', 'k'],
    ['k=1e2', 'k'],
    ['k=010', 'k'],
    ['k=', 'k'],
    ['k', 'k'],
    ['k=99999999999999999999', 'k'],
    ['window=0', 'window'],
    ['window=0m', 'window'],
    ['window=1H', 'window'],
    ['window=1', 'window'],
    ['window=-1h', 'window'],
    ['window=1.5h', 'window'],
    ['window=1w', 'window'],
    ['window=%201h', 'window'],
    ['window=401d', 'window'],
    ['window=9601h', 'window'],
    ['window=576001m', 'window'],
    ['window=999999999999999d', 'window'],
    ['until=2027-01-01T00:00:00Z', 'until'],
    ['until=99999999999999', 'until'],
    ['until=2026-11-30', 'until'],
    ['until=yesterday', 'until'],
    ['until=2026-11-30T10:00:00+01:00', 'until'],
    ['stream=', 'stream'],
    [`stream=${'a'.repeat(129)}`, 'stream'],
    ['stream=%ff', 'stream'],
    ['stream=%', 'stream'],
    ['stream=%ED%A0%80', 'stream'],
  ])('%s is refused by its name', async ([query, parameter]) => {
    const { status, json } = await tally.get(`/top?${query}`);
    expect(status).toBe(400);
    expect(problem.parse(json)).toMatchObject({ code: 'invalid_parameter', parameter });
  });

  test.for([
    ['k=500'],
    ['window=400d'],
    ['window=9600h'],
    ['window=576000m'],
    ['until=2026-11-30T10:30:00Z'],
    ['until=2026-11-30T11:00:00%2B01:00'],
    ['until=0'],
    [`stream=${'a'.repeat(128)}`],
    ['stream=%00'],
    ['stream=a+b%2Fc'],
    ['&window=1h&'],
  ])('%s is taken', async ([query]) => {
    expect((await tally.get(`/top?${query}`)).status).toBe(200);
  });

  test.for([
    ['/top?Window=1h', 'Window'],
    ['/top?windw=1h', 'windw'],
    ['/top?__proto__=1', '__proto__'],
    ['/top?=1', ''],
    ['/v1/streams/default/top?stream=a', 'stream'],
    ['/v1/streams/default/distinct?k=1', 'k'],
    ['/v1/streams/default?window=1h', 'window'],
    ['/healthz?verbose=1', 'verbose'],
  ])('%s has a parameter that is not known', async ([path, parameter]) => {
    const { status, json } = await tally.get(path as string);
    expect(status).toBe(400);
    expect(problem.parse(json)).toMatchObject({ code: 'unknown_parameter', parameter });
  });

  test('a repeated parameter is refused, whatever its values', async () => {
    for (const query of ['k=1&k=1', 'k=1&%6b=2']) {
      const { status, json } = await tally.get(`/top?${query}`);
      expect([status, json['code'], json['parameter']]).toEqual([400, 'repeated_parameter', 'k']);
    }
  });

  test('strict is true or false', async () => {
    const { status, json } = await tally.send([], { path: '/v1/events?strict=1' });
    expect([status, json['code'], json['parameter']]).toEqual([400, 'invalid_parameter', 'strict']);
  });

  test.for(['limit=0', 'limit=1001', 'after='])('%s is refused in a list', async (query) => {
    const { status, json } = await tally.get(`/v1/streams?${query}`);
    expect([status, json['code']]).toEqual([400, 'invalid_parameter']);
  });
});

describe('elements of the path', () => {
  const name129 = 'a'.repeat(129);
  const item513 = 'a'.repeat(513);

  test.for([
    ['/v1/streams/./top', 'stream'],
    ['/v1/streams/../top', 'stream'],
    ['/v1/streams/%2e%2e/top', 'stream'],
    ['/v1/streams//top', 'stream'],
    ['/v1/streams/%/top', 'stream'],
    ['/v1/streams/%zz/top', 'stream'],
    ['/v1/streams/%ff', 'stream'],
    ['/v1/streams/%ED%A0%80/top', 'stream'],
    [`/v1/streams/${name129}/top`, 'stream'],
    [`/v1/streams/default/items/${item513}`, 'item'],
    ['/v1/streams/default/items/..', 'item'],
    ['/v1/streams/default/items/%c3', 'item'],
    ['/v1/streams/default/items//series', 'item'],
  ])('%s is refused by the name of the element', async ([path, parameter]) => {
    const { status, text } = await rawRequest(tally.url, 'GET', path as string);
    expect(status).toBe(400);
    expect(problem.parse(JSON.parse(text))).toMatchObject({ code: 'invalid_path', parameter });
  });

  test.for([
    ['/v1/streams/default/items/%2E%2E%2E'],
    ['/v1/streams/%7Bp0%7D%00%20/top'],
    [`/v1/streams/${'a'.repeat(128)}/top`],
    [`/v1/streams/default/items/${'a'.repeat(512)}`],
    ['/v1/streams/default/items/a%2Fb%252F'],
  ])('%s is taken', async ([path]) => {
    expect((await rawRequest(tally.url, 'GET', path as string)).status).toBe(200);
  });
});

describe('paths and methods', () => {
  test.for([
    '/',
    '/v1',
    '/v1/streams/',
    '/v1/streams/default/top/',
    '/V1/streams',
    '/Top',
    '/top/',
    '//top',
    '/v1/%73treams',
    '/v1/streams/default/nothing',
    '/docs/swagger-ui.js',
    '/docs/../package.json',
  ])('%s is unknown', async (path) => {
    const { status, text } = await rawRequest(tally.url, 'GET', path);
    expect([status, JSON.parse(text).code]).toEqual([404, 'not_found']);
  });

  test.for([
    ['GET', '/v1/events', 'POST'],
    ['POST', '/top', 'GET, HEAD'],
    ['POST', '/v1/streams/default', 'GET, HEAD, PUT, DELETE'],
    ['GET', '/v1/query', 'POST'],
    ['DELETE', '/v1/streams/default/moderation', 'GET, HEAD, PUT'],
    ['DELETE', '/v1/streams', 'GET, HEAD'],
    ['PUT', '/v1/streams/default/items/counts', 'GET, HEAD, POST'],
    ['OPTIONS', '/healthz', 'GET, HEAD'],
  ])('%s %s is answered 405 with what is allowed', async ([method, path, allow]) => {
    const answer = await rawRequest(tally.url, method as string, path as string);
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
    expect(JSON.parse(answer.text).code).toBe('method_not_allowed');
  });

  test('HEAD answers like GET, without a body', async () => {
    const { status, text, headers } = await rawRequest(tally.url, 'HEAD', '/top');
    expect([status, text]).toEqual([200, '']);
    expect(Number(headers['content-length'])).toBeGreaterThan(100);
  });
});

describe('answers', () => {
  test('a problem says what, where and under which request id', async () => {
    const headers = { 'x-request-id': 'my-id.1' };
    const answer = await tally.get('/top?k=0', headers);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('x-request-id')).toBe('my-id.1');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.json).toEqual({
      type: problemType('invalid_parameter'),
      title: 'A query parameter is malformed or out of range',
      status: 400,
      code: 'invalid_parameter',
      detail: 'k: expected a whole number from 1 to 500',
      instance: 'my-id.1',
      parameter: 'k',
    });
  });

  test('a request id that is not harmless is replaced', async () => {
    for (const given of ['a b', '<script>', 'a'.repeat(65)]) {
      const id = (await tally.get('/healthz', { 'x-request-id': given })).headers.get(
        'x-request-id',
      );
      expect(id).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  test('a caller’s long text comes back shortened', async () => {
    const { json } = await tally.get(`/top?${'x'.repeat(5000)}=1`);
    expect(JSON.stringify(json).length).toBeLessThan(1000);
    const sent = await tally.send(`[{"item":"a","${'y'.repeat(100_000)}":1}]`);
    expect(sent.text.length).toBeLessThan(500);
  });

  test('what went wrong inside stays inside', async () => {
    tally.control.before = () => Promise.reject(new Error('secret detail'));
    const answer = await tally.get('/v1/streams/other/top');
    tally.control.before = async () => {};
    expect([answer.status, answer.json['code']]).toEqual([500, 'internal_error']);
    expect(answer.text).not.toContain('secret detail');
    const id = answer.headers.get('x-request-id');
    expect(answer.json['instance']).toBe(id);
    const line = tally.log.find((each) => each.includes('secret detail'));
    expect(JSON.parse(line ?? '{}').requestId).toBe(id);
  });

  test('long JSON is compressed for who takes it, short JSON is not', async () => {
    await tally.send(Array.from({ length: 50 }, (_, index) => ({ item: `item ${index}` })));
    await tally.clock.advance(2_000);
    const long = await tally.get('/top?k=50', { 'accept-encoding': 'gzip' });
    expect(long.headers.get('content-encoding')).toBe('gzip');
    expect(long.json['returned']).toBe(50);
    const short = await tally.get('/top?k=1', { 'accept-encoding': 'gzip' });
    expect(short.headers.get('content-encoding')).toBeNull();
  });

  test('neither the framework nor a cacheable version of answers shows', async () => {
    const { headers } = await tally.get('/top');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('etag')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('the log', () => {
  test('names no actor, item, key, parameter or header of a request', async () => {
    const secret = 'very-secret';
    await tally.send([{ item: `${secret}-item`, actor: `${secret}-actor` }, { actor: secret }], {
      headers: { 'idempotency-key': `${secret}-key`, authorization: `${secret}-token` },
    });
    await tally.send(`${secret}-no-json`);
    await tally.get(`/v1/streams/${secret}/items/${secret}?window=1h`);
    await tally.get(`/top?${secret}=${secret}`);
    await tally.get(`/${secret}`);
    await tally.fold();
    const log = tally.log.join('');
    expect(log).toContain('"route":"/v1/streams/{stream}/items/{item}"');
    expect(log).not.toContain(secret);
  });
});
