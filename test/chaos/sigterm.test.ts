import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectExactCounts } from '../support/exact-answers.ts';
import { batchOf, Ledger, type SentBatch } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import {
  startTallyProcess,
  startWithNpm,
  type ProcessEnd,
  type TallyProcess,
} from '../support/tally-process.ts';
import { until } from '../support/until.ts';

/** Requests that are half sent when the signal comes. */
const HALF_SENT = 3;
/** So large that the bodies of the load do not hide them in the sum of all bodies. */
const HALF_BYTES = 20_000;
const LEFT_GRACEFULLY: ProcessEnd = { code: 0, signal: null };

interface HalfSent {
  readonly batch: SentBatch;
  readonly request: ClientRequest;
  readonly answered: Promise<unknown[]>;
}

function sendHalf(url: string, key: string): HalfSent {
  const batch = batchOf(key, [
    { item: `${key} ${'x'.repeat(400)}`, actor: key },
    ...Array.from({ length: 1_500 }, () => ({ item: 'padding of a body' })),
  ]);
  const sent = request(`${url}/v1/events`, {
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(batch.body),
      'idempotency-key': batch.key,
    },
  });
  const answered = once(sent, 'response');
  sent.write(batch.body.slice(0, HALF_BYTES));
  return { batch, request: sent, answered };
}

async function bodyBytesInFlight(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^tally_body_bytes_in_flight (\d+)$/m.exec(metrics)?.[1]);
}

async function isRefused(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/healthz`, { headers: { connection: 'close' } });
    return false;
  } catch (error) {
    return ((error as Error).cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED';
  }
}

describe('SIGTERM under load', () => {
  const ledger = new Ledger();
  const started: TallyProcess[] = [];
  let redis: RedisServer;
  let other: TallyProcess;

  beforeAll(async () => {
    redis = await startRedis();
    other = await startTallyProcess({ REDIS_URL: redis.url });
    started.push(other);
  });
  afterAll(async () => {
    await Promise.all(started.map((tally) => tally.kill()));
    await redis?.stop();
  });

  test('a server finishes what is in flight, loses no answer and leaves', async () => {
    const leaving = await startTallyProcess({ REDIS_URL: redis.url, TALLY_ROLE: 'api' });
    started.push(leaving);
    const load = startLoad({ urls: [leaving.url, other.url], ledger, seed: 4 });
    const halfSent = Array.from({ length: HALF_SENT }, (_, n) =>
      sendHalf(leaving.url, `half ${n}`),
    );
    await until('they are under way', async () => {
      return (await bodyBytesInFlight(leaving.url)) >= HALF_SENT * HALF_BYTES;
    });
    leaving.signal('SIGTERM');
    await until('nobody is let in', () => isRefused(leaving.url));
    for (const { batch, request: sent, answered } of halfSent) {
      sent.end(batch.body.slice(HALF_BYTES));
      const [response] = (await answered) as [IncomingMessage];
      expect([response.statusCode, response.headers.connection]).toEqual([202, 'close']);
      ledger.acknowledge(batch, JSON.parse(await text(response)));
    }
    expect(await leaving.ended).toEqual(LEFT_GRACEFULLY);
    await load.stop();
    // Whatever was applied was also answered: no retry at the other server was a duplicate.
    expect(ledger.duplicateCount).toBe(0);
    await expectExactCounts(other.url, ledger);
  });

  test('npm start passes the signal on', async () => {
    const npm = await startWithNpm({ REDIS_URL: redis.url, TALLY_LOG_LEVEL: 'info' });
    started.push(npm);
    const load = startLoad({ urls: [npm.url, other.url], ledger, seed: 5 });
    const goal = ledger.batchCount + 50;
    await until('the load gets through', () => ledger.batchCount >= goal);
    npm.signal('SIGTERM');
    expect(await npm.ended).toEqual(LEFT_GRACEFULLY);
    expect(npm.output).toMatch(/"msg":"stopped"}\n$/);
    await load.stop();
    expect(ledger.duplicateCount).toBe(0);
    await expectExactCounts(other.url, ledger);
  });
});
