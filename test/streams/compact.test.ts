import { describe, expect, test } from 'vitest';
import { BrokenStreamError } from '../../src/lib/store-errors.ts';
import { Summary } from '../../src/sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../../src/sketches/summary-codec.ts';
import {
  type Bucket,
  bucketEndMs,
  bucketOf,
  DAY_MS,
  expiresAtMs,
  HOUR_MS,
  MINUTE_MS,
} from '../../src/streams/buckets.ts';
import {
  BUCKET_PARTS_DUE,
  CLOSE_DELAY_MS,
  COMPACT_STREAMS_MAX,
  PART_WAIT_MS,
} from '../../src/streams/limits.ts';
import type { CompactionCommit } from '../../src/streams/store-port.ts';
import { Pipeline, RETENTION, START_MS } from '../support/pipeline.ts';

const minute = bucketOf('minute', START_MS);
const hour = bucketOf('hour', START_MS);
const window = { lengthMs: HOUR_MS, untilMs: null };

describe('the compaction of a bucket', () => {
  test('brings its parts into the minute and the hour once, and they leave', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach([{ item: 'a', actor: 'x' }, { item: 'a', actor: 'y' }, { item: 'b' }]);
    await pipeline.compactAll();
    expect(await pipeline.openParts()).toEqual([]);
    for (const bucket of [minute, hour]) {
      const summary = await summaryAt(pipeline, bucket);
      expect(summary).toMatchObject({ total: 3, withoutActor: 1, incomplete: false });
      expect(countsOf(summary)).toEqual({ a: 2, b: 1 });
      expect(summary?.actors).toMatchObject({ size: 2 });
    }
    await pipeline.compactAll();
    expect((await summaryAt(pipeline, hour))?.total).toBe(3);
  });

  test('by three workers at once is done once', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    await Promise.all([1, 2, 3].map(() => pipeline.compactor.compactPartition(0)));
    expect((await summaryAt(pipeline, minute))?.total).toBe(1);
    expect((await summaryAt(pipeline, hour))?.total).toBe(1);
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(0);
  });

  test('lets a late part enter both levels again, beside what is there', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'early' }]);
    await pipeline.compactAll();
    await pipeline.send([{ item: 'late', atMs: START_MS }]);
    await pipeline.compactAll();
    for (const bucket of [minute, hour]) {
      expect(countsOf(await summaryAt(pipeline, bucket))).toEqual({ early: 1, late: 1 });
    }
  });

  test('sums up minutes of one hour in it, and leaves other hours alone', async () => {
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
  });

  test('brings a part of an hour into that hour only', async () => {
    const pipeline = new Pipeline();
    const atMs = START_MS - 30 * HOUR_MS;
    await pipeline.send([{ atMs }]);
    await pipeline.compactAll();
    expect((await summaryAt(pipeline, bucketOf('hour', atMs)))?.total).toBe(1);
    expect(await summaryAt(pipeline, bucketOf('minute', atMs))).toBeNull();
  });

  test('leaves out the minute when it is not kept any more by then', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const overMs = bucketEndMs(minute) + RETENTION.minute;
    await pipeline.clock.advance(overMs - START_MS);
    await pipeline.compactDue();
    expect((await summaryAt(pipeline, hour))?.total).toBe(1);
    expect(bucketsWritten(pipeline)).toEqual([hour]);
  });

  test('still writes the minute a millisecond earlier', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const overMs = bucketEndMs(minute) + RETENTION.minute;
    await pipeline.clock.advance(overMs - START_MS - 1);
    await pipeline.compactDue();
    expect(bucketsWritten(pipeline)).toEqual([minute, hour]);
  });

  test('drops parts whose hour is not kept any more either', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(33 * DAY_MS);
    await pipeline.compactDue();
    expect(await pipeline.openParts()).toEqual([]);
    expect(bucketsWritten(pipeline)).toEqual([]);
    expect(await pipeline.memory.readDueStreams(0, Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  test('has each summary expire an hour after its level stops to keep it', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    const written = commitsOf(pipeline).flatMap(({ summaries }) => summaries);
    expect(written.map((summary) => summary.expiresAtMs)).toEqual([
      bucketEndMs(minute) + RETENTION.minute + HOUR_MS,
      bucketEndMs(hour) + RETENTION.hour + HOUR_MS,
    ]);
  });

  test('gives every summary that it writes a tag of its own', async () => {
    const pipeline = new Pipeline();
    for (let round = 0; round < 3; round += 1) {
      await pipeline.send([{ atMs: START_MS }]);
      await pipeline.compactAll();
    }
    const written = commitsOf(pipeline).flatMap(({ summaries }) => summaries.map(({ tag }) => tag));
    expect(new Set(written).size).toBe(6);
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
    await pipeline.compactor.compactStream(0, 'default');
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

describe('damage', () => {
  const minuteName = 'partition 0 minute:2026-11-30T12:34Z';
  const hourName = 'partition 0 hour:2026-11-30T12:00Z';
  const wholeHour = { lengthMs: HOUR_MS, untilMs: bucketEndMs(hour) };
  const untilMinute = { lengthMs: 2 * MINUTE_MS, untilMs: bucketEndMs(minute) + MINUTE_MS };

  test('of a part is moved aside, and minute and hour say that something is missing', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const blob = Buffer.from('damaged');
    await foldRawPart(pipeline, minute, blob);
    await pipeline.compactAll();
    expect(await pipeline.openParts()).toEqual([]);
    expect(commitsOf(pipeline).flatMap(({ aside }) => aside)).toEqual([
      { reason: expect.stringContaining('summary'), blob },
    ]);
    await pipeline.clock.advance(HOUR_MS);
    const atMinute = await pipeline.queries.top({ stream: 'default', window: untilMinute, k: 1 });
    expect(atMinute).toMatchObject({ total: 1, missing: [minuteName] });
    const atHour = await pipeline.queries.top({ stream: 'default', window: wholeHour, k: 1 });
    expect(atHour).toMatchObject({ total: 1, missing: [hourName] });
  });

  test('of a part stays with its bucket: other minutes are whole', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ atMs: START_MS - MINUTE_MS }]);
    await pipeline.foldAll();
    await foldRawPart(pipeline, minute, Buffer.from('damaged'));
    await pipeline.compactAll();
    const before = await summaryAt(pipeline, bucketOf('minute', START_MS - MINUTE_MS));
    expect(before?.incomplete).toBe(false);
    expect((await summaryAt(pipeline, minute))?.incomplete).toBe(true);
    expect((await summaryAt(pipeline, hour))?.incomplete).toBe(true);
  });

  test('of a summary is moved aside, and what takes its place says that it is missing', async () => {
    const pipeline = new Pipeline();
    await putRawSummary(pipeline, hour, Buffer.from('damaged'));
    await pipeline.send([{}]);
    await pipeline.compactAll();
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 1, incomplete: true });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ total: 1, incomplete: false });
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(1);
    await pipeline.send([{ atMs: START_MS }]);
    await pipeline.compactAll();
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 2, incomplete: true });
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(1);
  });

  test('of a key that is no summary at all is written over, and is said to be missing', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    let expectedTag: unknown;
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'readIndex' && (args[2] as Bucket[]).length > 0) {
        return { ...((await run()) as object), summaryTags: [null, 'broken'] };
      }
      if (method !== 'commitCompaction') return run();
      const commit = args[1] as CompactionCommit;
      expectedTag = commit.summaries[1]?.expectedTag;
      // Here nothing was broken in truth.
      const summaries = commit.summaries.map((summary) => ({ ...summary, expectedTag: null }));
      return pipeline.memory.commitCompaction(0, { ...commit, summaries });
    };
    await pipeline.compactDue();
    expect(expectedTag).toBe('broken');
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 1, incomplete: true });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ total: 1, incomplete: false });
  });

  test('a part whose bytes are gone leaves as lost, and its bucket says so', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach([{ item: 'kept' }]);
    await pipeline.foldAll();
    await pipeline.send([{ item: 'lost' }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    const lost = (await pipeline.openParts())[1]!.tag;
    const commits: CompactionCommit[] = [];
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'readParts') {
        const tags = args[2] as string[];
        const blobs = (await run()) as (Uint8Array | null)[];
        return blobs.map((blob, index) => (tags[index] === lost ? null : blob));
      }
      if (method !== 'commitCompaction') return run();
      const commit = args[1] as CompactionCommit;
      commits.push(commit);
      const removeParts = [...commit.removeParts, ...commit.lostParts];
      return pipeline.memory.commitCompaction(0, { ...commit, removeParts, lostParts: [] });
    };
    await pipeline.compactDue();
    expect(commits).toMatchObject([{ lostParts: [lost], aside: [], remainingParts: 0 }]);
    expect(countsOf(await summaryAt(pipeline, hour))).toEqual({ kept: 1 });
    expect(await summaryAt(pipeline, hour)).toMatchObject({ incomplete: true });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ incomplete: true });
  });

  test('of one stream does not stop the compaction of others', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: 'a' }, { stream: 'b' }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'readIndex' && args[1] === 'a') throw new BrokenStreamError('broken');
      return run();
    };
    await pipeline.compactDue();
    expect(await pipeline.openParts('a')).toHaveLength(1);
    expect(await pipeline.openParts('b')).toHaveLength(0);
    // Until its next fold nobody visits it in vain.
    expect(await dueAt(pipeline, Number.MAX_SAFE_INTEGER)).toEqual([]);
    pipeline.watched.around = (_call, run) => run();
    await pipeline.send([{ stream: 'a', atMs: START_MS }]);
    await pipeline.compactAll();
    expect(await pipeline.openParts('a')).toHaveLength(0);
  });

  test('is not what a bug is taken for', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'readIndex') throw new TypeError('a bug');
      return run();
    };
    await expect(pipeline.compactDue()).rejects.toThrow(TypeError);
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
    other.add('other', 5);
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
        await pipeline.memory.deleteStream(0, 'default', 'next');
      }
      return run();
    };
    await pipeline.compactDue();
    await pipeline.send([{ item: 'new', atMs: START_MS }]);
    await pipeline.compactAll();
    expect(countsOf(await summaryAt(pipeline, hour))).toEqual({ new: 1 });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ total: 1, incomplete: false });
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
        await pipeline.compactor.compactStream(0, 'default');
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

async function summaryAt(pipeline: Pipeline, bucket: Bucket): Promise<Summary | null> {
  const [stored] = await pipeline.memory.readSummaries(0, 'default', [bucket]);
  return stored == null ? null : decodeSummary(stored.blob, pipeline.closedContext);
}

function countsOf(summary: Summary | null): Record<string, number> {
  const counts: Record<string, number> = {};
  summary?.listed.forEach((item, upper) => {
    counts[item] = upper;
  });
  return counts;
}

async function foldOne(pipeline: Pipeline, item: string): Promise<void> {
  await pipeline.send([{ item }]);
  await pipeline.foldAll();
}

/** Makes these bytes a part of the bucket. */
async function foldRawPart(pipeline: Pipeline, bucket: Bucket, blob: Uint8Array): Promise<void> {
  const nowMs = pipeline.clock.nowMs();
  const part = { tag: pipeline.tags(), bucket, bytes: blob.length, foldedAtMs: nowMs, blob };
  const { generation } = await pipeline.memory.readIndex(0, 'default', []);
  const times = { compactAtMs: nowMs, listedUntilMs: expiresAtMs(hour, RETENTION) };
  await pipeline.memory.commitFold(0, {
    entries: [],
    streams: [{ stream: 'default', generation, parts: [part], ...times }],
    aside: [],
  });
}

/** Puts these bytes in the place of the bucket's summary. */
async function putRawSummary(pipeline: Pipeline, bucket: Bucket, blob: Uint8Array): Promise<void> {
  const index = await pipeline.memory.readIndex(0, 'default', [bucket]);
  await pipeline.memory.commitCompaction(0, {
    stream: 'default',
    generation: index.generation,
    removeParts: [],
    lostParts: [],
    addParts: [],
    summaries: [
      {
        bucket,
        expectedTag: index.summaryTags[0] ?? null,
        tag: pipeline.tags(),
        blob,
        expiresAtMs: expiresAtMs(bucket, RETENTION),
      },
    ],
    aside: [],
    remainingParts: index.parts.length,
    compactAtMs: pipeline.clock.nowMs(),
  });
}

function dueAt(pipeline: Pipeline, timeMs: number): Promise<string[]> {
  return pipeline.memory.readDueStreams(0, timeMs, 10);
}

function commitsOf(pipeline: Pipeline): CompactionCommit[] {
  return pipeline.watched
    .callsOf('commitCompaction')
    .map(({ args }) => args[1] as CompactionCommit);
}

function bucketsWritten(pipeline: Pipeline): Bucket[] {
  return commitsOf(pipeline).flatMap(({ summaries }) => summaries.map(({ bucket }) => bucket));
}
