import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TopAnswer } from '../../src/client/types.ts';
import { expectExactCounts, read } from '../support/exact-answers.ts';
import { Ledger } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import { startTallyProcess, type TallyProcess } from '../support/tally-process.ts';
import { until } from '../support/until.ts';

/** Enough for each of three partitions to get a share of every kind of event. */
const BATCHES = 120;
/** Of so many keys not all lie in the same partition. */
const KEYS_ENOUGH = 8;
const TOP = '/top?window=24h&k=500';
/** A question that nobody has asked before: there is no old answer to it. */
const NEW_QUESTION = '/top?window=3h&k=7';

describe('three primaries', () => {
  const ledger = new Ledger();
  let cluster: RedisCluster;
  let api: TallyProcess;
  let worker: TallyProcess;

  beforeAll(async () => {
    cluster = await startCluster({
      primaries: 3,
      appendfsync: 'always',
      args: ['--cluster-require-full-coverage', 'no'],
    });
    [api, worker] = await Promise.all([
      startTallyProcess({ REDIS_URL: cluster.url, TALLY_ROLE: 'api' }),
      startTallyProcess({ REDIS_URL: cluster.url, TALLY_ROLE: 'worker' }),
    ]);
  });

  afterAll(async () => {
    await worker?.kill();
    await api?.kill();
    await cluster?.stop();
  });

  test('events spread over all partitions are counted exactly', async () => {
    const load = startLoad({ urls: [api.url], ledger, seed: 2 });
    await until('enough is sent', () => ledger.batchCount >= BATCHES);
    await load.stop();
    await expectExactCounts(api.url, ledger);
  });

  test('with one primary down the answer is partial and names what is missing', async () => {
    await cluster.nodes[1]?.kill();
    let answer: TopAnswer | null = null;
    await until('an answer is partial', async () => {
      answer = await read<TopAnswer>(api.url, TOP);
      return answer.partial === true;
    });
    expect(answer).toMatchObject({ partial: true, missing: ['partition 1'] });
    const { total } = answer as unknown as TopAnswer;
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThan(ledger.counts.total);
    const waiting = await expectOthersToGoOn(api.url);
    await cluster.nodes[1]?.restart();
    await waiting.all;
    await expectExactCounts(api.url, ledger);
  });

  test('with all of them down old answers are marked and new questions get 503', async () => {
    const { total } = await read<TopAnswer>(api.url, TOP);
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    await until('an old answer is served', async () => {
      const answer = await read<TopAnswer>(api.url, TOP);
      return answer.stale === true && answer.total === total;
    });
    const paths = [NEW_QUESTION, '/readyz'];
    for (const response of await Promise.all(paths.map((path) => fetch(api.url + path)))) {
      const { status, headers, url } = response;
      expect([url, status, headers.get('retry-after')]).toEqual([url, 503, '1']);
    }
    await Promise.all(cluster.nodes.map((node) => node.restart()));
    await expectExactCounts(api.url, ledger);
  });
});

/**
 * The keys of some of these lie in partitions that are well: those are taken in and folded. `all`
 * are answered once the others are well again.
 */
async function expectOthersToGoOn(url: string): Promise<{ all: Promise<unknown> }> {
  const sent = Array.from({ length: KEYS_ENOUGH }, async (_, index) => {
    const response = await fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `elsewhere-${index}` },
      body: JSON.stringify({ stream: 'elsewhere', item: `item-${index}` }),
    });
    if (response.status !== 202) throw new Error(`answered ${response.status}`);
    return `item-${index}`;
  });
  const item = await Promise.any(sent);
  await until('what another partition took in is folded', async () => {
    const answer = await read<TopAnswer>(url, '/v1/streams/elsewhere/top?k=20');
    return answer.items.some((row) => row.item === item);
  });
  return { all: Promise.allSettled(sent) };
}
