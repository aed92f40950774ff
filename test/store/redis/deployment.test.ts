import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { claimDeployment } from '../../../src/store/redis/deployment.ts';
import { RedisRefusedError } from '../../../src/store/redis/redis-refused-error.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

let server: RedisServer;
let connection: RedisConnection;

const UNSET = { partitions: null, hashSecret: null };
const SECRET = '0123456789abcdef';

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

beforeEach(async () => {
  await server.cli('FLUSHALL');
});

afterAll(async () => {
  connection?.close();
  await server?.stop();
});

test('the first start makes a secret and one partition, which later starts read', async () => {
  const first = await claimDeployment(connection, UNSET);
  expect(first.hashSecret).toMatch(/^[0-9a-f]{16}$/);
  expect(first.partitionTags).toHaveLength(1);
  expect(await claimDeployment(connection, UNSET)).toEqual(first);
  await server.cli('FLUSHALL');
  expect((await claimDeployment(connection, UNSET)).hashSecret).not.toBe(first.hashSecret);
});

test('settings of the first start are kept, and the same settings are accepted later', async () => {
  const settings = { partitions: 6, hashSecret: SECRET };
  const first = await claimDeployment(connection, settings);
  expect(first.hashSecret).toBe(SECRET);
  expect(new Set(first.partitionTags).size).toBe(6);
  expect(await claimDeployment(connection, settings)).toEqual(first);
  expect(await claimDeployment(connection, UNSET)).toEqual(first);
});

test('other settings than those of the first start are refused, without telling the secret', async () => {
  await claimDeployment(connection, { partitions: 2, hashSecret: SECRET });
  const morePartitions = claimDeployment(connection, { partitions: 3, hashSecret: null });
  await expect(morePartitions).rejects.toThrow(RedisRefusedError);
  await expect(morePartitions).rejects.toThrow(/TALLY_PARTITIONS is 3, .* with 2/);
  const other = claimDeployment(connection, { partitions: null, hashSecret: 'f'.repeat(16) });
  await expect(other).rejects.toThrow(/TALLY_HASH_SECRET/);
  await expect(other).rejects.not.toThrow(SECRET);
});

test('of many that start at once all get the same', async () => {
  const claims = await Promise.all(
    Array.from({ length: 20 }, () => claimDeployment(connection, UNSET)),
  );
  expect(new Set(claims.map((claim) => JSON.stringify(claim))).size).toBe(1);
});

test('a damaged record is reported and not replaced', async () => {
  await server.cli('HSET', '{tally}:deployment', 'hashSecret', SECRET);
  await expect(claimDeployment(connection, UNSET)).rejects.toThrow(StoreUnavailableError);
  expect(await server.cli('HLEN', '{tally}:deployment')).toBe('1');
});

test('what another version stored is refused, not read as if it were complete', async () => {
  await claimDeployment(connection, UNSET);
  await server.cli('HDEL', '{tally}:deployment', 'layout');
  await expect(claimDeployment(connection, UNSET)).rejects.toThrow(RedisRefusedError);
  await expect(claimDeployment(connection, UNSET)).rejects.toThrow(/layout 1 instead of 2/);
  await server.cli('HSET', '{tally}:deployment', 'layout', '3');
  await expect(claimDeployment(connection, UNSET)).rejects.toThrow(/layout 3 instead of 2/);
});
