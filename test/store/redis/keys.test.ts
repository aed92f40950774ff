import { afterAll, beforeAll, expect, test } from 'vitest';
import { slotOfHashTag } from '../../../src/store/redis/hash-slot.ts';
import { deploymentKeys, PartitionKeys } from '../../../src/store/redis/keys.ts';
import { LEVELS } from '../../../src/streams/buckets.ts';
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

test('all keys of a partition lie in its slot, whatever a share is called', async () => {
  const keys = new PartitionKeys('p3.1');
  const { slot, idRings, ...others } = keys;
  const shareKeys = ['a', 'a:v', '{b}', '}{', 'é', 'a\u001fb\u001fc'].flatMap((share) => [
    ...Object.values(keys.share(share)),
    ...LEVELS.flatMap((level) => [
      keys.summary(share, { level, startMs: 0 }, 'counts'),
      keys.summary(share, { level, startMs: 0 }, 'viewers'),
    ]),
  ]);
  const all = [...idRings, ...Object.values(others), ...shareKeys];
  expect(all).toHaveLength(9 + 7 + 6 * (3 + 6));
  expect(new Set(all).size).toBe(all.length);
  const slots = await Promise.all(all.map(slotInRedis));
  expect(new Set(slots)).toEqual(new Set([slot]));
});

test('the keys of the deployment lie in one slot', async () => {
  const { slot, deployment, fence } = deploymentKeys;
  expect(await slotInRedis(deployment)).toBe(slot);
  expect(await slotInRedis(fence)).toBe(slot);
});
