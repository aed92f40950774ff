import { afterEach, expect, test } from 'vitest';
import { expectExactCounts } from '../support/exact-answers.ts';
import { batchOf, Ledger, type SentBatch } from '../support/ledger.ts';
import { postBatch } from '../support/load.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { startTallyProcess, type TallyProcess } from '../support/tally-process.ts';
import { until } from '../support/until.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) {
    await cleanUp();
  }
});

async function startStore(): Promise<RedisServer> {
  const redis = await startRedis();
  cleanUps.push(() => redis.stop());
  return redis;
}

async function start(env: Record<string, string>): Promise<TallyProcess> {
  const tally = await startTallyProcess(env);
  cleanUps.push(() => tally.kill());
  return tally;
}

/** Sends until one is refused, acknowledging the others; answers the refused one. */
async function fill(
  url: string,
  ledger: Ledger,
  itemOf: (n: number) => string,
): Promise<{ readonly refused: SentBatch; readonly response: Response }> {
  for (let n = 0; ; n += 1) {
    const batch = batchOf(`fill-${n}`, [{ item: itemOf(n) }]);
    const response = await postBatch(url, batch);
    if (response.status !== 202) {
      return { refused: batch, response };
    }
    ledger.acknowledge(batch, await response.json());
  }
}

async function expectBacklogFull(response: Response): Promise<void> {
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await response.json()).toMatchObject({ code: 'backlog_full' });
}

test('entries over the backlog limit get 503 until a worker has folded', async () => {
  const redis = await startStore();
  const api = await start({
    REDIS_URL: redis.url,
    TALLY_ROLE: 'api',
    TALLY_MAX_BACKLOG_ENTRIES: '5',
  });
  const ledger = new Ledger();
  const { refused, response } = await fill(api.url, ledger, (n) => `item ${n}`);
  await expectBacklogFull(response);
  expect(ledger.batchCount).toBe(5);
  // What was taken before is still known, limit or not.
  const first = batchOf('fill-0', [{ item: 'item 0' }]);
  const again = await postBatch(api.url, first);
  expect(await again.json()).toMatchObject({ accepted: 0, duplicate: 1 });

  await start({ REDIS_URL: redis.url, TALLY_ROLE: 'worker' });
  let answer: Response | null = null;
  await until('the same request is accepted', async () => {
    answer = await postBatch(api.url, refused);
    return answer.status === 202;
  });
  ledger.acknowledge(refused, await (answer as unknown as Response).json());
  expect(ledger.duplicateCount).toBe(0);
  await expectExactCounts(api.url, ledger);
});

test('bytes over the backlog limit get 503, a Redis that is gone another', async () => {
  const redis = await startStore();
  const api = await start({
    REDIS_URL: redis.url,
    TALLY_ROLE: 'api',
    TALLY_MAX_BODY_BYTES: '1024',
    TALLY_MAX_BACKLOG_BYTES: '1024',
  });
  const ledger = new Ledger();
  const { response } = await fill(api.url, ledger, (n) => `${n} ${'x'.repeat(300)}`);
  await expectBacklogFull(response);
  // Three of these items take more than 900 bytes, four would take more than the limit.
  expect(ledger.batchCount).toBeLessThanOrEqual(3);
  expect(ledger.batchCount).toBeGreaterThan(0);
  await redis.kill();
  // Before the server has noticed, a write may be on its way, and its outcome unknown.
  await until('the server has noticed', async () => {
    return (await fetch(`${api.url}/readyz`)).status === 503;
  });
  const refused = await postBatch(api.url, batchOf('late', [{ item: 'a' }]));
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await refused.json()).toMatchObject({ code: 'store_unavailable' });
});
