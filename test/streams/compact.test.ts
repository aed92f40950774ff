import { describe, expect, test } from 'vitest';
import { Summary } from '../../src/sketches/summary.ts';
import { encodeSummary } from '../../src/sketches/summary-codec.ts';
import { bucketEndMs, bucketOf, DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import {
  BUCKET_PARTS_DUE,
  CLOSE_DELAY_MS,
  COMPACT_STREAMS_MAX,
  PART_WAIT_MS,
} from '../../src/streams/limits.ts';
import type { PartitionIndex } from '../../src/streams/store-port.ts';
import {
  bucketsWritten,
  commitsOf,
  countsOf,
  dueAt,
  foldOne,
  foldRawPart,
  putRawSummary,
  summaryAt,
} from '../support/compacted.ts';
import { Pipeline, RETENTION, START_MS } from '../support/pipeline.ts';

const minute = bucketOf('minute', START_MS);
const hour = bucketOf('hour', START_MS);
const day = bucketOf('day', START_MS);
const window = { kind: 'trailing', lengthMs: HOUR_MS, untilMs: null } as const;

describe('the compaction of a bucket', () => {
  test('brings its parts into the minute, the hour and the day once, and they leave', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach([{ item: 'a', actor: 'x' }, { item: 'a', actor: 'y' }, { item: 'b' }]);
    await pipeline.compactAll();
    expect(await pipeline.openParts()).toEqual([]);
    for (const bucket of [minute, hour, day]) {
      const summary = await summaryAt(pipeline, bucket);
      expect(summary).toMatchObject({ total: 3, withoutActor: 1, incomplete: false });
      expect(countsOf(summary)).toEqual({ a: 2, b: 1 });
      expect(summary?.actors).toMatchObject({ size: 2 });
    }
    await pipeline.compactAll();
    expect((await summaryAt(pipeline, hour))?.total).toBe(3);
    expect((await summaryAt(pipeline, day))?.total).toBe(3);
  });

  test('by three workers at once is done once', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    await Promise.all([1, 2, 3].map(() => pipeline.compactor.compactPartition(0)));
    for (const bucket of [minute, hour, day]) {
      expect((await summaryAt(pipeline, bucket))?.total).toBe(1);
    }
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(0);
  });

  test('lets a late part enter all levels again, beside what is there', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'early' }]);
    await pipeline.compactAll();
    await pipeline.send([{ item: 'late', atMs: START_MS }]);
    await pipeline.compactAll();
    for (const bucket of [minute, hour, day]) {
      expect(countsOf(await summaryAt(pipeline, bucket))).toEqual({ early: 1, late: 1 });
    }
  });

  test('sums up minutes of one hour in it and hours in their day, and leaves other hours alone', async () => {
    const pipeline = new Pipeline();
    const nextHourMs = START_MS + HOUR_MS;
    await pipeline.sendEach([{}, { atMs: START_MS - MINUTE_MS }, { atMs: START_MS - HOUR_MS }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(HOUR_MS);
    await pipeline.send([{ atMs: nextHourMs, count: 7 }]);
    await pipeline.compactAll();
    expect((await summaryAt(pipeline, minute))?.total).toBe(1);
    expect((await summaryAt(pipeline, hour))?.total).toBe(2);
    expect((await summaryAt(pipeline, bucketOf('hour', START_MS - HOUR_MS)))?.total).toBe(1);
    expect((await summaryAt(pipeline, bucketOf('hour', nextHourMs)))?.total).toBe(7);
    expect((await summaryAt(pipeline, day))?.total).toBe(10);
  });

  test('brings a part of an hour into that hour and its day only', async () => {
    const pipeline = new Pipeline();
    const atMs = START_MS - 30 * HOUR_MS;
    await pipeline.send([{ atMs }]);
    await pipeline.compactAll();
    expect((await summaryAt(pipeline, bucketOf('hour', atMs)))?.total).toBe(1);
    expect((await summaryAt(pipeline, bucketOf('day', atMs)))?.total).toBe(1);
    expect(await summaryAt(pipeline, bucketOf('minute', atMs))).toBeNull();
  });

  test('brings a part of a day into that day only', async () => {
    const pipeline = new Pipeline();
    const atMs = START_MS - 300 * DAY_MS;
    await pipeline.send([{ atMs }, { atMs: atMs - HOUR_MS }]);
    await pipeline.compactAll();
    expect(bucketsWritten(pipeline)).toEqual([bucketOf('day', atMs)]);
    expect((await summaryAt(pipeline, bucketOf('day', atMs)))?.total).toBe(2);
  });

  test('leaves out the minute when it is not kept any more by then', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const overMs = bucketEndMs(minute) + RETENTION.minute;
    await pipeline.clock.advance(overMs - START_MS);
    await pipeline.compactDue();
    expect((await summaryAt(pipeline, hour))?.total).toBe(1);
    expect(bucketsWritten(pipeline)).toEqual([hour, day]);
  });

  test('still writes the minute a millisecond earlier', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const overMs = bucketEndMs(minute) + RETENTION.minute;
    await pipeline.clock.advance(overMs - START_MS - 1);
    await pipeline.compactDue();
    expect(bucketsWritten(pipeline)).toEqual([minute, hour, day]);
  });

  test('leaves out the hour too when only the day is kept by then', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(33 * DAY_MS);
    await pipeline.compactDue();
    expect((await summaryAt(pipeline, day))?.total).toBe(1);
    expect(bucketsWritten(pipeline)).toEqual([day]);
  });

  test('drops parts whose day is not kept any more either', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(401 * DAY_MS);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toEqual([]);
    expect(bucketsWritten(pipeline)).toEqual([]);
    expect(await pipeline.memory.readDueShares(0, Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  test('has each summary expire an hour after its level stops to keep it', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    const written = commitsOf(pipeline).flatMap(({ summaries }) => summaries);
    expect(written.map((summary) => summary.expiresAtMs)).toEqual([
      bucketEndMs(minute) + RETENTION.minute + HOUR_MS,
      bucketEndMs(hour) + RETENTION.hour + HOUR_MS,
      bucketEndMs(day) + RETENTION.day + HOUR_MS,
    ]);
  });

  test('gives every summary that it writes a tag of its own', async () => {
    const pipeline = new Pipeline();
    for (let round = 0; round < 3; round += 1) {
      await pipeline.send([{ atMs: START_MS }]);
      await pipeline.compactAll();
    }
    const written = commitsOf(pipeline).flatMap(({ summaries }) => summaries.map(({ tag }) => tag));
    expect(new Set(written).size).toBe(9);
  });
});

describe('when a part is compacted', () => {
  test('in a bucket that is open not before it is closed', async () => {
    const startMs = minute.startMs;
    const pipeline = new Pipeline({ startMs });
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(MINUTE_MS + CLOSE_DELAY_MS - 1);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(1);
    await pipeline.clock.advance(1);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(0);
  });

  test('that is late after a minute, or with the 16th one', async () => {
    const late = { atMs: START_MS - HOUR_MS };
    const pipeline = new Pipeline();
    for (let count = 1; count < BUCKET_PARTS_DUE; count += 1) {
      await pipeline.send([late]);
      await pipeline.foldAll();
      await pipeline.compactDue();
      expect(await pipeline.openParts()).toHaveLength(count);
    }
    await pipeline.send([late]);
    await pipeline.foldAll();
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(0);

    await pipeline.send([late]);
    await pipeline.foldAll();
    await pipeline.clock.advance(PART_WAIT_MS - 1);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(1);
    await pipeline.clock.advance(1);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(0);
  });

  test('within two minutes too when the clock was set back by hours after its fold', async () => {
    const pipeline = new Pipeline();
    const late = { atMs: START_MS - 5 * HOUR_MS };
    await pipeline.send([late]);
    await pipeline.foldAll();
    pipeline.clock.jumpTo(START_MS - 3 * HOUR_MS);
    await pipeline.send([late]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(0);
    expect((await summaryAt(pipeline, bucketOf('hour', late.atMs)))?.total).toBe(2);
  });

  test('has it visited again when the next bucket wants it, and never without parts', async () => {
    const pipeline = new Pipeline({ startMs: minute.startMs });
    await pipeline.send([{ atMs: minute.startMs }, { atMs: minute.startMs + MINUTE_MS }]);
    await pipeline.foldAll();
    const firstMs = minute.startMs + MINUTE_MS + CLOSE_DELAY_MS;
    expect(await dueAt(pipeline, firstMs - 1)).toEqual([]);
    expect(await dueAt(pipeline, firstMs)).toEqual(['default']);
    await pipeline.clock.advance(firstMs - minute.startMs);
    await pipeline.compactDue();
    expect(await dueAt(pipeline, firstMs + MINUTE_MS - 1)).toEqual([]);
    expect(await dueAt(pipeline, firstMs + MINUTE_MS)).toEqual(['default']);
    await pipeline.clock.advance(MINUTE_MS);
    await pipeline.compactDue();
    expect(await dueAt(pipeline, Number.MAX_SAFE_INTEGER)).toEqual([]);
  });

  test('a visit that came too early only puts the next one off', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.compactor.compactShare(0, 'default');
    expect(bucketsWritten(pipeline)).toEqual([]);
    expect(await pipeline.openParts()).toHaveLength(1);
    expect(await dueAt(pipeline, START_MS)).toEqual([]);
  });

  test('a part that is folded during the visit is not forgotten', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    let isFirst = true;
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'commitCompaction' && isFirst) {
        isFirst = false;
        await pipeline.send([{ item: 'meanwhile', atMs: START_MS }]);
        await pipeline.foldAll();
      }
      return run();
    };
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(1);
    await pipeline.clock.advance(2 * MINUTE_MS);
    await pipeline.compactDue();
    expect(countsOf(await summaryAt(pipeline, hour))).toEqual({ a: 1, meanwhile: 1 });
  });
});

describe('the parts of a bucket that is open', () => {
  // Not the first moment of the minute: a window that ends there does not hold it yet.
  const startMs = minute.startMs + 1;

  test('are merged among themselves at the 16th, and enter no summary', async () => {
    const pipeline = new Pipeline({ startMs });
    for (let count = 1; count < BUCKET_PARTS_DUE; count += 1) await foldOne(pipeline, `${count}`);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(BUCKET_PARTS_DUE - 1);
    await foldOne(pipeline, '16');
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(1);
    expect(bucketsWritten(pipeline)).toEqual([]);
    const { items, exact } = await pipeline.queries.top({ stream: 'default', window, k: 500 });
    expect(items.map(({ count }) => count)).toEqual(Array(BUCKET_PARTS_DUE).fill(1));
    expect(exact).toBe(true);
  });

  test('keep the time of the oldest of them, so that the wait does not begin anew', async () => {
    const pipeline = new Pipeline({ startMs });
    await foldOne(pipeline, 'first');
    await pipeline.clock.advance(20_000);
    for (let count = 1; count < BUCKET_PARTS_DUE; count += 1) await foldOne(pipeline, `${count}`);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toMatchObject([{ foldedAtMs: startMs }]);
  });

  test('are merged without the damaged ones, and the merged part says so', async () => {
    const pipeline = new Pipeline({ startMs });
    for (let count = 1; count < BUCKET_PARTS_DUE; count += 1) await foldOne(pipeline, `${count}`);
    await foldRawPart(pipeline, minute, Buffer.from('damaged'));
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(1);
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(1);
    const answer = await pipeline.queries.top({ stream: 'default', window, k: 1 });
    expect(answer.total).toBe(BUCKET_PARTS_DUE - 1);
    expect(answer.missing).toEqual(['partition 0 minute:2026-11-30T12:34Z']);
  });

  test('leave a mark even when all of them are damaged', async () => {
    const pipeline = new Pipeline({ startMs });
    for (let count = 0; count < BUCKET_PARTS_DUE; count += 1) {
      await foldRawPart(pipeline, minute, Buffer.from('damaged'));
    }
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toHaveLength(1);
    const { missing } = await pipeline.queries.top({ stream: 'default', window, k: 1 });
    expect(missing).toEqual(['partition 0 minute:2026-11-30T12:34Z']);
  });
});

describe('a compaction that was overtaken changes nothing and is done later', () => {
  test.each([
    { when: 'before its index', method: 'readIndex' as const },
    { when: 'before its summaries are read', method: 'readSummaries' as const },
    { when: 'before its commit', method: 'commitCompaction' as const },
  ])('by another summary, $when', async ({ method }) => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'early' }]);
    await pipeline.compactAll();
    await pipeline.send([{ item: 'late', atMs: START_MS }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    const other = new Summary(pipeline.closedContext);
    other.add('other', 5, null);
    let isFirst = true;
    pipeline.watched.around = async (call, run) => {
      if (call.method === method && isFirst) {
        isFirst = false;
        await putRawSummary(pipeline, hour, encodeSummary(other));
      }
      return run();
    };
    await pipeline.compactDue();
    await pipeline.compactDue();
    expect(countsOf(await summaryAt(pipeline, hour))).toEqual({ late: 1, other: 5 });
    expect(countsOf(await summaryAt(pipeline, minute))).toEqual({ early: 1, late: 1 });
    expect(await pipeline.openParts()).toEqual([]);
  });

  test.each([
    { when: 'before its second look at the index', at: 2, method: 'readIndex' as const },
    { when: 'before its parts are read', at: 1, method: 'readParts' as const },
    { when: 'before its commit', at: 1, method: 'commitCompaction' as const },
  ])('by a deletion, $when', async ({ at, method }) => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'old' }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    let calls = 0;
    pipeline.watched.around = async (call, run) => {
      if (call.method === method) calls += 1;
      if (call.method === method && calls === at) {
        await pipeline.memory.deleteShare(0, 'default', 'next');
      }
      return run();
    };
    await pipeline.compactDue();
    await pipeline.send([{ item: 'new', atMs: START_MS }]);
    await pipeline.compactAll();
    expect(countsOf(await summaryAt(pipeline, hour))).toEqual({ new: 1 });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ total: 1, incomplete: false });
  });

  test.each([
    {
      what: 'index of another generation',
      method: 'readIndex' as const,
      change: (index: object) => {
        const { shares } = index as PartitionIndex;
        return { ...index, shares: shares.map((share) => ({ ...share, generation: 'another' })) };
      },
    },
    {
      what: 'summary with another tag',
      method: 'readSummaries' as const,
      change: (stored: object) => (stored as object[]).map((one) => ({ ...one, tag: 'another' })),
    },
  ])('even when a failover takes the store back: no $what is used', async ({ method, change }) => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    await pipeline.send([{ atMs: START_MS }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    pipeline.watched.calls = [];
    let calls = 0;
    pipeline.watched.around = async (call, run) => {
      if (call.method !== method) return run();
      calls += 1;
      const isAsked = method !== 'readIndex' || calls === 2;
      // What is read here is gone again at the time of the commit.
      return isAsked ? change((await run()) as object) : run();
    };
    await pipeline.compactDue();
    expect(commitsOf(pipeline)).toEqual([]);
    expect((await summaryAt(pipeline, hour))?.total).toBe(1);
  });

  test('by another worker that has done the same', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    let isFirst = true;
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'readParts' && isFirst) {
        isFirst = false;
        await pipeline.compactor.compactShare(0, 'default');
      }
      return run();
    };
    await pipeline.compactDue();
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 1, incomplete: false });
  });
});

test('one visit takes as many streams as its limit, the longest due first', async () => {
  const pipeline = new Pipeline();
  const streams = Array.from({ length: COMPACT_STREAMS_MAX + 1 }, (_, index) => `s${index}`);
  await pipeline.send(streams.map((stream) => ({ stream })));
  await pipeline.foldAll();
  await pipeline.clock.advance(2 * MINUTE_MS);
  expect(await pipeline.compactor.compactPartition(0)).toBe(COMPACT_STREAMS_MAX);
  expect(await pipeline.compactor.compactPartition(0)).toBe(1);
  expect(await pipeline.compactor.compactPartition(0)).toBe(0);
});
