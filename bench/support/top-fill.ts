/** An hour of events in a Redis: as Tally's closed summaries, and as sorted sets of the recipe. */
import type { Redis } from 'ioredis';
import { ManualClock } from '../../src/lib/clock.ts';
import { MINUTE_MS } from '../../src/streams/buckets.ts';
import { actorName, type Events, itemName } from './load-events.ts';
import { openRoomOnRedis } from './store-room.ts';

export const RECIPE_MINUTES = 60;
export const RECIPE_PREFIX = 'recipe:top:';
const BATCH_EVENTS = 8_000;
/** After so long all parts have waited for company, and are compacted. */
const COMPACTION_WAIT_MS = 2 * MINUTE_MS;

/** The events, spread evenly over the hour before `endMs`, by the road that every event takes. */
export async function fillTally(url: string, events: Events, endMs: number): Promise<void> {
  const clock = new ManualClock(endMs - RECIPE_MINUTES * MINUTE_MS);
  const room = await openRoomOnRedis(url, clock);
  try {
    for (let minute = 0; minute < RECIPE_MINUTES; minute += 1) {
      const [first, last] = rangeOf(events, minute);
      for (let start = first; start < last; start += BATCH_EVENTS) {
        const batch = eventsBetween(events, start, Math.min(start + BATCH_EVENTS, last));
        await room.ingest.accept({ events: batch, rejected: [], idempotency: null, strict: false });
      }
      while ((await room.folder.foldPartition(0)).more);
      await clock.advance(MINUTE_MS);
      await room.compactor.compactPartition(0);
    }
    await clock.advance(COMPACTION_WAIT_MS);
    await room.compactor.compactPartition(0);
  } finally {
    room.close();
  }
}

/** What one ZINCRBY for each event into its minute's set leaves behind. */
export async function fillRecipe(redis: Redis, events: Events): Promise<void> {
  for (let minute = 0; minute < RECIPE_MINUTES; minute += 1) {
    const [first, last] = rangeOf(events, minute);
    const counts = new Map<number, number>();
    for (const item of events.items.subarray(first, last)) {
      counts.set(item, (counts.get(item) ?? 0) + 1);
    }
    const pipeline = redis.pipeline();
    for (const [item, count] of counts) {
      pipeline.zadd(`${RECIPE_PREFIX}${minute}`, count, itemName(item));
    }
    await pipeline.exec();
  }
}

function rangeOf({ items }: Events, minute: number): [first: number, last: number] {
  const perMinute = items.length / RECIPE_MINUTES;
  return [Math.floor(minute * perMinute), Math.floor((minute + 1) * perMinute)];
}

function eventsBetween({ items, actors }: Events, start: number, end: number) {
  return Array.from({ length: end - start }, (_, index) => ({
    index,
    stream: 'default',
    item: itemName(items[start + index]!),
    actor: actorName(actors[start + index]!),
    count: 1,
    atMs: null,
    dims: null,
  }));
}
