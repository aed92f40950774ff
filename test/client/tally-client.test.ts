import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { TallyClient, type TallyClientOptions } from '../../src/client/tally-client.ts';
import { TallyError } from '../../src/client/tally-error.ts';
import { type Clock, ManualClock } from '../../src/lib/clock.ts';
import { startTestTally } from '../support/tally.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly key: string | undefined;
  readonly body: string;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A server that gives the answers in their order, the last one again and again. */
async function serve(...answers: readonly Answer[]): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({
        method: request.method ?? '',
        url: request.url ?? '',
        key: request.headers['idempotency-key'] as string | undefined,
        body: Buffer.concat(chunks).toString(),
      });
      answers[Math.min(seen.length, answers.length) - 1]?.(response, request);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

const accepted = json(202, { accepted: 1, rejected: 0, duplicate: 0, errors: [] });
const unavailable = (retryAfter: string): Answer =>
  json(
    503,
    { code: 'store_unavailable', detail: 'the store cannot be reached', instance: 'r-1' },
    { 'retry-after': retryAfter },
  );
const hangUp: Answer = (_response, request) => request.socket.destroy();

const TIMEOUT_MS = 30_000;

/** Waits between attempts pass at once and are written down; the time limit is never reached. */
class RecordingClock implements Clock {
  readonly waitsMs: number[] = [];

  nowMs(): number {
    return 0;
  }

  elapsedMs(): number {
    return 0;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms !== TIMEOUT_MS) {
      this.waitsMs.push(ms);
      return Promise.resolve();
    }
    return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()));
  }
}

function clientOf(url: string, options: Partial<TallyClientOptions> = {}) {
  const clock = new RecordingClock();
  return { clock, client: new TallyClient({ url, clock, timeoutMs: TIMEOUT_MS, ...options }) };
}

async function failureOf(promise: Promise<unknown>): Promise<TallyError> {
  const failure: unknown = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(TallyError);
  return failure as TallyError;
}

const EVENT = { item: 'a', at: 5 };

test('every method asks for its route, with names percent-encoded', async () => {
  const { url, seen } = await serve(json(200, {}));
  const { client } = clientOf(`${url}/prefix/`);
  const stream = 'a/b c%?#é';
  await client.top({ stream, window: '90m', k: 3, until: '2026-11-30T10:00:00+01:00' });
  await client.distinct();
  await client.itemCounts(['x', 'y'], { stream: 's', window: '2h' });
  await client.series({ stream: 's', window: '24h', step: '1h' });
  await client.series({ stream: 's', item: '/index.html?x=1' });
  await client.streams({ after: 'a&b', limit: 7 });
  await client.stream('s');
  await client.deleteStream('s');
  await client.sendEvents([EVENT], { strict: true, idempotencyKey: 'k' });
  const encoded = 'a%2Fb%20c%25%3F%23%C3%A9';
  expect(seen.map(({ method, url: path }) => `${method} ${path}`)).toEqual([
    `GET /prefix/v1/streams/${encoded}/top?window=90m&until=2026-11-30T10%3A00%3A00%2B01%3A00&k=3`,
    'GET /prefix/v1/streams/default/distinct',
    'POST /prefix/v1/streams/s/items/counts?window=2h',
    'GET /prefix/v1/streams/s/series?window=24h&step=1h',
    'GET /prefix/v1/streams/s/items/%2Findex.html%3Fx%3D1/series',
    'GET /prefix/v1/streams?after=a%26b&limit=7',
    'GET /prefix/v1/streams/s',
    'DELETE /prefix/v1/streams/s',
    'POST /prefix/v1/events?strict=true',
  ]);
  expect(JSON.parse(seen[2]?.body ?? '')).toEqual({ items: ['x', 'y'] });
  expect(JSON.parse(seen[8]?.body ?? '')).toEqual([EVENT]);
  expect(seen[8]?.key).toBe('k');
});

test('rankings, sets, settings and moderation have methods with all their parameters', async () => {
  const { url, seen } = await serve(json(200, {}));
  const { client } = clientOf(url);
  const range = { from: 1, to: '2026-11-30T10:00:00Z' };
  await client.top({ ...range, where: 'c:I,N', by: 'actors', offset: 5, movement: true });
  await client.top({ decay: '30m', explain: true });
  await client.trending({ stream: 's', period: 'today', tz: 'Asia/Kolkata', baseline: 3, k: 2 });
  await client.trending({ by: 'actors', minSupport: 50, movement: false });
  await client.distinctBy('country', { stream: 's', window: '2h' });
  await client.itemDistinct('a/b', { stream: 's' });
  await client.distinctTogether(['a,b', '50%', 'ü'], 'union', { window: '1d' });
  await client.moderationQueue({ stream: 's', k: 3 });
  await client.moderationAudit('s', { limit: 9 });
  await client.moderation('s');
  await client.putStream('s', { kMax: 5 });
  await client.putModeration('s', { blocked: { items: ['x'] } }, { by: 'me', reason: 'so' });
  await client.changeModeration('s', [{ action: 'block', prefix: 'p' }], { by: 'me' });
  await client.query([
    { type: 'top', k: 1 },
    { type: 'series', item: 'a' },
  ]);
  expect(seen.map(({ method, url: path }) => `${method} ${path.replace('/v1/', '')}`)).toEqual([
    'GET streams/default/top?from=1&to=2026-11-30T10%3A00%3A00Z&where=c%3AI%2CN&offset=5' +
      '&by=actors&movement=true',
    'GET streams/default/top?explain=true&decay=30m',
    'GET streams/s/trending?period=today&tz=Asia%2FKolkata&k=2&baseline=3',
    'GET streams/default/trending?by=actors&minSupport=50&movement=false',
    'GET streams/s/distinct?window=2h&by=country',
    'GET streams/s/items/a%2Fb/distinct',
    'GET distinct?streams=a%252Cb%2C50%2525%2C%C3%BC&op=union&window=1d',
    'GET streams/s/moderation/queue?k=3',
    'GET streams/s/moderation/audit?limit=9',
    'GET streams/s/moderation',
    'PUT streams/s',
    'PUT streams/s/moderation',
    'POST streams/s/moderation/changes',
    'POST query',
  ]);
  expect(seen.slice(10).map(({ body }) => JSON.parse(body))).toEqual([
    { kMax: 5 },
    { by: 'me', reason: 'so', blocked: { items: ['x'] } },
    { by: 'me', changes: [{ action: 'block', prefix: 'p' }] },
    {
      queries: [
        { type: 'top', k: 1 },
        { type: 'series', item: 'a' },
      ],
    },
  ]);
});

test('a server understands what the methods send', async () => {
  const tally = await startTestTally();
  const client = new TallyClient({ url: tally.url, clock: tally.clock });
  const stream = 'a,b %/ü';
  try {
    const { settings } = await client.putStream(stream, { dimensions: [{ name: 'country' }] });
    expect((await client.putStream(stream, settings)).settings).toEqual(settings);
    const dims = { country: 'IN' };
    await client.sendEvents([
      { stream, item: 'x', actor: 'u', dims },
      { stream, item: 'y', actor: 'u' },
      { stream: 'other', item: 'x', actor: 'u' },
    ]);
    await tally.fold();
    const together = await client.distinctTogether([stream, 'other'], 'intersection');
    expect(together).toMatchObject({ estimate: 1, exact: true });
    expect((await client.distinctBy('country', { stream })).parts).toMatchObject([{ value: 'IN' }]);
    expect((await client.itemDistinct('x', { stream })).estimate).toBe(1);
    const { results } = await client.query([
      { type: 'top', stream, where: 'country:IN', from: tally.clock.nowMs() - 3_600_000 },
      { type: 'items', stream, items: ['y'] },
    ]);
    const [top, items] = results;
    expect(top.answer.items.map(({ item }) => item)).toEqual(['x']);
    expect(items.answer.items.map(({ count }) => count)).toEqual([1]);
    const refused = await failureOf(client.query([{ type: 'top' }, { type: 'top', k: 501 }]));
    expect(refused).toMatchObject({ status: 400, parameter: 'k', index: 1 });
    const moderator = { by: 'me' };
    await client.changeModeration(stream, [{ action: 'block', item: 'x' }], moderator);
    const { blocked, allowed } = await client.moderation(stream);
    await client.putModeration(stream, { blocked, allowed }, moderator);
    expect((await client.moderationAudit(stream)).entries.map(({ action }) => action)).toEqual([
      'import',
      'block',
    ]);
    expect((await client.top({ stream })).items.map(({ item }) => item)).toEqual(['y']);
    expect((await client.moderationQueue({ stream })).items).toEqual([]);
  } finally {
    await tally.close();
  }
});

test.each(['', '.', '..', '\ud800'])(
  'the name %j is refused before anything is sent',
  async (name) => {
    const { url, seen } = await serve(json(200, {}));
    const { client } = clientOf(url);
    expect(() => client.stream(name)).toThrow(TallyError);
    expect(seen).toEqual([]);
  },
);

test.each(['', 'localhost:8080', 'ftp://x', 'http://'])('the address %j is refused', (url) => {
  expect(() => new TallyClient({ url })).toThrow(/not an http or https URL/);
});

test('a send is repeated after 503 with the same key and body, as late as the server asks', async () => {
  const { url, seen } = await serve(unavailable('7'), unavailable('0'), hangUp, accepted);
  const { client, clock } = clientOf(url, { newKey: () => 'key-1' });
  expect(await client.sendEvents([EVENT])).toMatchObject({ accepted: 1 });
  expect(clock.waitsMs).toEqual([7_000, 500, 1_000]);
  expect(seen.map(({ key }) => key)).toEqual(['key-1', 'key-1', 'key-1', 'key-1']);
  expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
});

test('sends without a key of their own get different ones', async () => {
  const { url, seen } = await serve(accepted);
  const { client } = clientOf(url);
  await client.sendEvents([EVENT]);
  await client.sendEvents([EVENT]);
  expect(seen[0]?.key).toMatch(/^[0-9a-f]{32}$/);
  expect(seen[0]?.key).not.toBe(seen[1]?.key);
});

test('attempts are bounded, and the last failure is told with all its facts', async () => {
  const { url, seen } = await serve(unavailable('3600'));
  const { client, clock } = clientOf(url, { attempts: 3 });
  const failure = await failureOf(client.top());
  expect(failure).toMatchObject({
    status: 503,
    code: 'store_unavailable',
    detail: 'the store cannot be reached',
    retryAfterSeconds: 3600,
    requestId: 'r-1',
  });
  expect(seen).toHaveLength(3);
  expect(clock.waitsMs).toEqual([60_000, 60_000]);
});

test.each([400, 404, 413, 422, 500])('an answer of %d is not asked for again', async (status) => {
  const problem = { code: 'some_code', detail: 'why', parameter: 'k' };
  const { url, seen } = await serve(json(status, problem));
  const failure = await failureOf(clientOf(url).client.sendEvents([EVENT]));
  expect(failure).toMatchObject({ status, code: 'some_code', parameter: 'k' });
  expect(seen).toHaveLength(1);
});

test('a DELETE is sent once, whatever comes of it', async () => {
  const { url, seen } = await serve(unavailable('0'));
  await failureOf(clientOf(url).client.deleteStream('s'));
  expect(seen).toHaveLength(1);
});

test('what does not speak Tally is told from what does', async () => {
  const { url } = await serve((response) => response.end('<html>hello</html>'));
  const failure = await failureOf(clientOf(url).client.top());
  expect(failure).toMatchObject({ status: 200, code: 'unexpected_answer' });
});

test('a server that is not there is unreachable, with the reason', async () => {
  const { url } = await serve(accepted);
  const server = servers.pop();
  await new Promise((resolve) => server?.close(resolve));
  const { client, clock } = clientOf(url, { attempts: 2 });
  const failure = await failureOf(client.stream('s'));
  expect(failure).toMatchObject({ status: 0, code: 'unreachable' });
  expect(failure.detail).toContain('ECONNREFUSED');
  expect(clock.waitsMs).toEqual([250]);
});

test('an answer that does not come in time is a timeout', async () => {
  const clock = new ManualClock();
  let arrived = (): void => {};
  const request = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const { url } = await serve(() => arrived());
  const client = new TallyClient({ url, clock, timeoutMs: 1_000, attempts: 1 });
  const failure = failureOf(client.top());
  await request;
  await clock.advance(1_000);
  expect(await failure).toMatchObject({ status: 0, code: 'timeout' });
});

test("the caller's signal ends a call with the signal's reason", async () => {
  const aborter = new AbortController();
  const { url, seen } = await serve(() => aborter.abort(new Error('enough')));
  const { client } = clientOf(url);
  await expect(client.top({ signal: aborter.signal })).rejects.toThrow('enough');
  await expect(client.top({ signal: aborter.signal })).rejects.toThrow('enough');
  expect(seen).toHaveLength(1);
});
