import { afterAll, beforeAll, test } from 'vitest';
import { expectExactCounts } from '../support/exact-answers.ts';
import { Ledger } from '../support/ledger.ts';
import { startLoad } from '../support/load.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { startTallyProcess, type TallyProcess } from '../support/tally-process.ts';
import { until } from '../support/until.ts';

/** Batches that must get through before the failover and after it. */
const PROGRESS_BATCHES = 60;

let cluster: RedisCluster;
let api: TallyProcess;
let worker: TallyProcess;

beforeAll(async () => {
  cluster = await startCluster({ primaries: 3, replicasPerPrimary: 1 });
  const env = { REDIS_URL: cluster.url, TALLY_ACK_REPLICAS: '1', TALLY_ACK_TIMEOUT_MS: '300' };
  [api, worker] = await Promise.all([
    startTallyProcess({ ...env, TALLY_ROLE: 'api' }),
    startTallyProcess({ ...env, TALLY_ROLE: 'worker' }),
  ]);
});

afterAll(async () => {
  await worker?.kill();
  await api?.kill();
  await cluster?.stop();
});

test('a primary dies with writes its replica never got: nothing acknowledged is lost', async () => {
  const [primary] = cluster.nodes as [RedisServer];
  const [replica] = (await cluster.replicasOf(primary)) as [RedisServer];
  const ledger = new Ledger();
  const load = startLoad({ urls: [api.url], ledger, seed: 3 });
  const untilProgress = (): Promise<void> => {
    const goal = ledger.batchCount + PROGRESS_BATCHES;
    return until('the load gets through', () => ledger.batchCount >= goal);
  };
  await untilProgress();
  // A sleeping replica whose link is cut cannot get what the primary still takes: that much is
  // lost for certain with the primary, and must not have been acknowledged.
  await replica.kill('SIGSTOP');
  await primary.cli('CLIENT', 'KILL', 'TYPE', 'replica');
  await until('the load meets it', () => (load.outcomes.get('outcome_unknown') ?? 0) > 0);
  await primary.kill('SIGKILL');
  await replica.kill('SIGCONT');
  await until('the replica is elected', async () =>
    (await replica.cli('INFO', 'replication')).includes('role:master'),
  );
  // The new primary has no replica until the old one comes back as such.
  await primary.restart();
  await untilProgress();
  await load.stop();
  await expectExactCounts(api.url, ledger);
});
