import { HOUR_MS } from '../../../src/streams/buckets.ts';
import type { RedisConnection } from '../../../src/store/redis/connection.ts';
import {
  RedisStreamStore,
  type RedisStreamStoreSettings,
} from '../../../src/store/redis/redis-stream-store.ts';
import { slotOfHashTag } from '../../../src/store/redis/hash-slot.ts';
import { type OpenStore, ROOMY } from '../../contract/harness.ts';
import { until } from '../../support/until.ts';

let openedCount = 0;

/** Hash tags that no other test uses. */
function freshTags(count: number): string[] {
  openedCount += 1;
  return Array.from({ length: count }, (_, i) => `t${openedCount}.${i}`);
}

const DEFAULT_SETTINGS: Omit<RedisStreamStoreSettings, 'partitionTags'> = {
  ...ROOMY,
  longestRetentionMs: HOUR_MS,
  ack: null,
};

/** A store in a part of its own of the Redis behind the connection; partitions take turns. */
export function openOn(
  connection: RedisConnection,
  settings: Partial<RedisStreamStoreSettings> = {},
): OpenStore & { readonly tag: string } {
  const partitionTags = settings.partitionTags ?? freshTags(3);
  const partition = openedCount % partitionTags.length;
  const tag = partitionTags[partition] as string;
  const nowMs = async (): Promise<number> => {
    const [seconds, micros] = await connection.reads.send(slotOfHashTag(tag), (node) =>
      node.time(),
    );
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };
  return {
    store: new RedisStreamStore(connection, { ...DEFAULT_SETTINGS, ...settings, partitionTags }),
    partition,
    tag,
    nowMs,
    passMs: async (ms) => {
      const endMs = (await nowMs()) + ms;
      await until(`${ms} ms have passed in Redis`, async () => (await nowMs()) >= endMs);
    },
  };
}
