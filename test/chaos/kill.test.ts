import { afterAll, expect, test } from 'vitest';
import { expectExactCounts } from '../support/exact-answers.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { batchOf, Ledger } from '../support/ledger.ts';
import { postBatch, startLoad } from '../support/load.ts';
import { startRedis } from '../support/redis-server.ts';
import { startTallyProcess, type TallyProcess } from '../support/tally-process.ts';
import { until } from '../support/until.ts';

const ROUNDS = 3;
/** Batches that must get through after each kill before the next one. */
const PROGRESS_BATCHES = 25;
/** A job that died with its worker may have to wait until the schedule is looked after. */
const SCHEDULE_REPAIRED_MS = 40_000;

const cleanUps: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) {
    await cleanUp();
  }
});

async function start(env: Record<string, string>): Promise<TallyProcess> {
  const tally = await startTallyProcess(env);
  cleanUps.push(() => tally.kill());
  return tally;
}

async function foldedEntries(worker: TallyProcess): Promise<number> {
  const metrics = await (await fetch(`${worker.url}/metrics`)).text();
  return Number(/^tally_folded_entries_total\{outcome="folded"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

test('kill -9 of API, worker and Redis under load: what was acknowledged is counted once', async () => {
  const redis = await startRedis({ appendfsync: 'always' });
  cleanUps.push(() => redis.stop());
  const proxy = await startFaultProxy(redis.port);
  cleanUps.push(() => proxy.close());
  // The first API's writes go through the proxy, which can keep Redis's replies from it.
  const [unlucky, steady, worker] = await Promise.all([
    start({ REDIS_URL: `redis://127.0.0.1:${proxy.port}`, TALLY_ROLE: 'api' }),
    start({ REDIS_URL: redis.url, TALLY_ROLE: 'api' }),
    start({ REDIS_URL: redis.url, TALLY_ROLE: 'worker' }),
  ]);
  const ledger = new Ledger();
  const load = startLoad({ urls: [unlucky.url, steady.url], ledger, seed: 1 });
  const untilProgress = (): Promise<void> => {
    const goal = ledger.batchCount + PROGRESS_BATCHES;
    return until('the load gets through', () => ledger.batchCount >= goal);
  };
  await untilProgress();
  for (let round = 1; round <= ROUNDS; round += 1) {
    // Applied in Redis, its reply lost, and the server that waits for it killed.
    const item = `lost item ${round}`;
    const batch = batchOf(`lost-${round}`, [{ item, actor: 'someone', count: 2 }]);
    const lostBefore = proxy.lostReplies;
    proxy.loseReplyTo(item, Number.POSITIVE_INFINITY);
    const firstTry = postBatch(unlucky.url, batch).catch(() => null);
    await until('the reply is lost', () => proxy.lostReplies > lostBefore);
    await unlucky.kill();
    expect(await firstTry).toBeNull();
    const retry = await postBatch(steady.url, batch);
    const answer = await retry.json();
    expect([retry.status, answer]).toEqual([
      202,
      { accepted: 0, rejected: 0, duplicate: 1, errors: [] },
    ]);
    ledger.acknowledge(batch, answer);
    await unlucky.start();
    await untilProgress();

    const folds = async (): Promise<boolean> => (await foldedEntries(worker)) > 0;
    await until('the worker folds', folds, SCHEDULE_REPAIRED_MS);
    await worker.kill();
    await untilProgress();
    await worker.start();

    await redis.kill('SIGKILL');
    await redis.restart();
    await untilProgress();

    await steady.kill();
    await untilProgress();
    await steady.start();
    await untilProgress();
  }
  await load.stop();
  expect(ledger.duplicateCount).toBeGreaterThanOrEqual(ROUNDS);
  await expectExactCounts(steady.url, ledger);
  await expectExactCounts(unlucky.url, ledger);
});
