import { afterEach, expect, test } from 'vitest';
import { type RedisCluster, startCluster } from './redis-cluster.ts';
import { until } from './until.ts';

const started: RedisCluster[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((cluster) => cluster.stop()));
});

async function start(options: Parameters<typeof startCluster>[0]): Promise<RedisCluster> {
  const cluster = await startCluster(options);
  started.push(cluster);
  return cluster;
}

test('three primaries share the slots', async () => {
  const cluster = await start({ primaries: 3 });
  const owners = await Promise.all(['a', 'b', 'c'].map((key) => cluster.primaryOf(key)));
  expect(new Set(owners.map((owner) => owner?.port)).size).toBe(3);
  for (const [index, key] of ['a', 'b', 'c'].entries()) {
    await owners[index]?.cli('SET', key, 'value');
  }
  await expect(owners[0]?.cli('GET', 'b')).rejects.toThrow(/MOVED/);
});

test('a killed primary is replaced by its replica, with the data', async () => {
  const cluster = await start({ primaries: 3, replicasPerPrimary: 1 });
  const primary = await cluster.primaryOf('key');
  await primary.cli('SET', 'key', 'value');
  const replicas = await cluster.replicasOf(primary);
  await until('the replica has it', async () => {
    return (await replicas[0]?.cli('DBSIZE')) === '1';
  });
  const elected = await cluster.killAndFailOver(primary);
  expect(elected.port).not.toBe(primary.port);
  expect((await cluster.primaryOf('key')).port).toBe(elected.port);
  expect(await elected.cli('GET', 'key')).toBe('value');
});

test('a replica that is promoted by force takes over from a primary that runs', async () => {
  const cluster = await start({ primaries: 3, replicasPerPrimary: 1 });
  const primary = await cluster.primaryOf('key');
  const [replica] = await cluster.replicasOf(primary);
  expect(replica).toBeDefined();
  await cluster.promote(replica as NonNullable<typeof replica>);
  expect((await cluster.primaryOf('key')).port).toBe(replica?.port);
});
