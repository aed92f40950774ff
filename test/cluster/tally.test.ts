import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type RunningTally, startTally } from '../../src/main.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import { answerOf } from '../support/tally.ts';
import { until } from '../support/until.ts';

let cluster: RedisCluster;
let api: RunningTally;
let worker: RunningTally;

function start(role: string): Promise<RunningTally> {
  const config = readConfig({ TALLY_PORT: '0', REDIS_URL: cluster.url, TALLY_ROLE: role });
  return startTally(config, { logger: pino({ level: 'silent' }) });
}

beforeAll(async () => {
  cluster = await startCluster({ primaries: 3 });
  api = await start('api');
  worker = await start('worker');
});
afterAll(async () => {
  await Promise.all([api.close(), worker.close()]);
  await cluster.stop();
});

const get = (path: string) => answerOf(fetch(api.url + path));

describe('a server on a cluster', () => {
  test('spreads events over one partition for each primary, and answers over all', async () => {
    expect(api.storeNotes).toEqual([expect.stringMatching(/\(Cluster\), 3 partitions\.$/)]);
    const send = async (batch: number) => {
      const response = await fetch(`${api.url}/v1/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': `batch ${batch}` },
        body: JSON.stringify([{ item: 'a', actor: `actor ${batch % 5}` }, { item: `b${batch}` }]),
      });
      expect(response.status).toBe(202);
    };
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(Array.from({ length: 30 }, (_, batch) => send(batch)));
    }
    const { text } = await answerOf(fetch(`${api.url}/metrics`));
    expect(text).toContain('tally_backlog_entries{partition="2"}');
    await until('all of it is counted', async () => (await get('/top')).json['total'] === 60);
    expect((await get('/top?k=1')).json['items']).toMatchObject([{ item: 'a', count: 30 }]);
    expect((await get('/v1/streams/default/distinct')).json).toMatchObject({
      estimate: 5,
      exact: true,
    });
  });

  test('drops a stream in every partition', async () => {
    const path = `${api.url}/v1/streams/default`;
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(204);
    expect((await get('/top')).json['total']).toBe(0);
    expect((await get('/v1/streams')).json['streams']).toEqual([]);
  });
});
