import { afterAll, beforeAll, expect, test } from 'vitest';
import { slotOfHashTag } from '../../../src/store/redis/hash-slot.ts';
import { deploymentKeys, PartitionKeys } from '../../../src/store/redis/keys.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

let node: RedisServer;

beforeAll(async () => {
  node = await startRedis({ args: ['--cluster-enabled', 'yes'] });
});

afterAll(async () => {
  await node?.stop();
});

async function slotInRedis(key: string): Promise<number> {
  return Number(await node.cli('CLUSTER', 'KEYSLOT', key));
}

test.each(['p0.0', 'p12.34', 'tally', 'a', '', 'é😀', 'x'.repeat(300)])(
  'the slot of the tag %j is the one that Redis says',
  async (tag) => {
    // Redis takes empty braces for a part of the key, not for a tag.
    expect(slotOfHashTag(tag)).toBe(await slotInRedis(tag));
  },
);

test('all keys of a partition lie in its slot, whatever a stream is called', async () => {
  const keys = new PartitionKeys('p3.1');
  const { slot, idRings, ...others } = keys;
  const streamKeys = ['a', '{b}', '}{', 'é'].flatMap((stream) => [
    ...Object.values(keys.stream(stream)),
    keys.summary(stream, { level: 'minute', startMs: 60_000 }),
    keys.summary(stream, { level: 'hour', startMs: 0 }),
  ]);
  const all = [...idRings, ...Object.values(others), ...streamKeys];
  expect(all).toHaveLength(9 + 7 + 4 * 5);
  expect(new Set(all).size).toBe(all.length);
  const slots = await Promise.all(all.map(slotInRedis));
  expect(new Set(slots)).toEqual(new Set([slot]));
});

test('the keys of the deployment lie in one slot', async () => {
  const { slot, deployment, fence } = deploymentKeys;
  expect(await slotInRedis(deployment)).toBe(slot);
  expect(await slotInRedis(fence)).toBe(slot);
});
