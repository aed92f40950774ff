/** A long history in a Redis: as Tally's summaries, and as the sorted sets of the recipe. */
import type { Redis } from 'ioredis';
import { ManualClock } from '../../src/lib/clock.ts';
import { MINUTE_MS } from '../../src/streams/buckets.ts';
import { actorName, itemName } from './load-events.ts';
import { openRoomOnRedis } from './store-room.ts';
import type { History } from './windows-history.ts';

const BATCH_EVENTS = 8_000;
const BATCHES_PER_FOLD = 64;
/** After so long all parts have waited for company, and are compacted. */
const COMPACTION_WAIT_MS = 2 * MINUTE_MS;

/** The whole history by the road that every import takes. */
export async function fillTally(url: string, history: History, nowMs: number): Promise<void> {
  const clock = new ManualClock(nowMs);
  const room = await openRoomOnRedis(url, clock);
  const eventCount = history.items.length;
  const names = Array.from({ length: history.itemCount }, (_, item) => itemName(item));
  try {
    for (let start = 0, batch = 1; start < eventCount; start += BATCH_EVENTS, batch += 1) {
      const length = Math.min(BATCH_EVENTS, eventCount - start);
      const events = Array.from({ length }, (_, index) => ({
        index,
        stream: 'default',
        item: names[history.items[start + index]!]!,
        actor: actorName(history.actors[start + index]!),
        count: 1,
        atMs: history.timeMsOf(start + index),
        dims: null,
      }));
      await room.ingest.accept({ events, rejected: [], idempotency: null, strict: true });
      if (batch % BATCHES_PER_FOLD === 0) {
        while ((await room.folder.foldPartition(0)).more);
        await room.compactor.compactPartition(0);
      }
    }
    while ((await room.folder.foldPartition(0)).more);
    await clock.advance(COMPACTION_WAIT_MS);
    await room.compactor.compactPartition(0);
  } finally {
    room.close();
  }
}

export function minuteKey(minuteMs: number): string {
  return `recipe:windows:${minuteMs / MINUTE_MS}`;
}

/** What one ZINCRBY for each event into its minute's set leaves behind, of all since `fromMs`. */
export async function fillRecipe(redis: Redis, history: History, fromMs: number): Promise<void> {
  for (let startMs = fromMs; startMs < history.untilMs; startMs += MINUTE_MS) {
    const counts = new Map<number, number>();
    const first = history.indexAt(startMs);
    const last = history.indexAt(startMs + MINUTE_MS);
    for (const item of history.items.subarray(first, last)) {
      counts.set(item, (counts.get(item) ?? 0) + 1);
    }
    const pipeline = redis.pipeline();
    const key = minuteKey(startMs);
    for (const [item, count] of counts) pipeline.zadd(key, count, itemName(item));
    await pipeline.exec();
  }
}
