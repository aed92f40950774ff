/** Forgets shares in every partition, with all that waits in the log for them. */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import {
  type Bucket,
  bucketOf,
  EXPIRY_SLACK_MS,
  LEVEL_MS,
  LEVELS,
  type Retention,
} from './buckets.ts';
import type { StreamStore } from './store-port.ts';

/** Buckets freed in one call. */
const DROP_BUCKETS_MAX = 1_024;

export interface ShareDropOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  /** The longest that a stream may have. */
  readonly retention: Retention;
}

/** Rejects with StoreUnavailableError when a partition could not be reached: safe to repeat. */
export async function dropShares(
  options: ShareDropOptions,
  shares: readonly string[],
): Promise<void> {
  const { store, tags } = options;
  const onEachPartition = async (run: (partition: number) => Promise<void>): Promise<void> => {
    const { partitionCount } = store;
    await Promise.all(Array.from({ length: partitionCount }, (_, partition) => run(partition)));
  };
  for (const share of shares) {
    const next = tags();
    await onEachPartition((partition) => store.deleteShare(partition, share, next));
  }
  const buckets = bucketsOfAllLevels(options.clock.nowMs(), options.retention);
  for (const share of shares) {
    await onEachPartition((partition) => freeSummaries(store, partition, share, buckets));
  }
}

/** They are unreadable already and expire by themselves: only their memory is at stake. */
async function freeSummaries(
  store: StreamStore,
  partition: number,
  share: string,
  buckets: readonly Bucket[],
): Promise<void> {
  try {
    for (let at = 0; at < buckets.length; at += DROP_BUCKETS_MAX) {
      await store.dropStaleSummaries(partition, share, buckets.slice(at, at + DROP_BUCKETS_MAX));
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

/** Every bucket that can hold something now. */
function bucketsOfAllLevels(nowMs: number, retention: Retention): Bucket[] {
  return LEVELS.flatMap((level) => {
    const newest = bucketOf(level, nowMs + EXPIRY_SLACK_MS).startMs;
    const reachMs = retention[level] + 2 * EXPIRY_SLACK_MS + LEVEL_MS[level];
    const count = Math.ceil(reachMs / LEVEL_MS[level]);
    return Array.from({ length: count }, (_, index) => ({
      level,
      startMs: newest - index * LEVEL_MS[level],
    }));
  });
}
