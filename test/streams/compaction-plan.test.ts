import { describe, expect, test } from 'vitest';
import {
  type Bucket,
  bucketEndMs,
  bucketOf,
  HOUR_MS,
  type Level,
  MINUTE_MS,
} from '../../src/streams/buckets.ts';
import {
  compactionDueMs,
  isFull,
  openBuckets,
  planCompaction,
} from '../../src/streams/compaction-plan.ts';
import {
  BUCKET_PART_BYTES_MAX,
  BUCKET_PARTS_DUE,
  BUCKET_PARTS_MAX,
  CLOSE_DELAY_MS,
  PART_BYTES_MAX,
  PART_BYTES_MERGEABLE,
  PART_WAIT_MS,
} from '../../src/streams/limits.ts';
import type { PartRef } from '../../src/streams/store-port.ts';

const minute = bucketOf('minute', Date.UTC(2026, 10, 30, 12, 34));
const CLOSED_MS = bucketEndMs(minute) + CLOSE_DELAY_MS;
const FOLDED_MS = minute.startMs + 10_000;

describe('the time of the next visit', () => {
  test('is none without parts', () => {
    expect(compactionDueMs([], FOLDED_MS)).toBeNull();
  });

  test('is when the bucket is closed and its parts have waited for company', () => {
    const early = [partOf({ foldedAtMs: minute.startMs })];
    expect(compactionDueMs(early, FOLDED_MS)).toBe(CLOSED_MS);
    const late = [partOf({ foldedAtMs: CLOSED_MS + 5 })];
    expect(compactionDueMs(late, CLOSED_MS + 5)).toBe(CLOSED_MS + 5 + PART_WAIT_MS);
  });

  test('is counted from the oldest part, and the earliest bucket decides', () => {
    const parts = [
      partOf({ foldedAtMs: CLOSED_MS + 9_000 }),
      partOf({ foldedAtMs: CLOSED_MS + 1_000 }),
      partOf({ foldedAtMs: CLOSED_MS + 1_000, bucket: minuteAfter(5) }),
    ];
    expect(compactionDueMs(parts, CLOSED_MS + 9_000)).toBe(CLOSED_MS + 1_000 + PART_WAIT_MS);
  });

  test.each([
    { bucket: 'an open bucket', foldedAtMs: FOLDED_MS },
    { bucket: 'a closed bucket', foldedAtMs: CLOSED_MS },
  ])('is now from the 16th part of $bucket on', ({ foldedAtMs }) => {
    const almost = parts(BUCKET_PARTS_DUE - 1, { foldedAtMs });
    expect(compactionDueMs(almost, foldedAtMs)).toBe(foldedAtMs + PART_WAIT_MS);
    expect(compactionDueMs(parts(BUCKET_PARTS_DUE, { foldedAtMs }), foldedAtMs)).toBe(foldedAtMs);
  });

  test('does not count large parts of an open bucket, which are not merged', () => {
    const large = parts(BUCKET_PARTS_DUE, { bytes: PART_BYTES_MERGEABLE });
    expect(compactionDueMs(large, FOLDED_MS)).toBeGreaterThan(FOLDED_MS);
    const small = parts(BUCKET_PARTS_DUE, { bytes: PART_BYTES_MERGEABLE - 1 });
    expect(compactionDueMs(small, FOLDED_MS)).toBe(FOLDED_MS);
  });

  test('counts large parts of a closed bucket like any other', () => {
    const late = { foldedAtMs: CLOSED_MS, bytes: PART_BYTES_MERGEABLE };
    expect(compactionDueMs(parts(BUCKET_PARTS_DUE, late), CLOSED_MS)).toBe(CLOSED_MS);
  });

  test('is now when a bucket is full', () => {
    const bytes = BUCKET_PART_BYTES_MAX / 2;
    expect(compactionDueMs(parts(2, { bytes }), FOLDED_MS)).toBe(FOLDED_MS);
  });
});

describe('a bucket', () => {
  test('is full with the last part that it takes, by number or by bytes', () => {
    const isFullWith = (some: PartRef[]): boolean => isFull(openBuckets(some)[0]!);
    expect(isFullWith(parts(BUCKET_PARTS_MAX - 1))).toBe(false);
    expect(isFullWith(parts(BUCKET_PARTS_MAX))).toBe(true);
    const half = BUCKET_PART_BYTES_MAX / 2;
    expect(isFullWith([partOf({ bytes: half }), partOf({ bytes: half - 1 })])).toBe(false);
    expect(isFullWith([partOf({ bytes: half }), partOf({ bytes: half })])).toBe(true);
  });

  test('holds the parts of its level only, and the oldest bucket comes first', () => {
    const atHour: Bucket = { level: 'hour', startMs: minute.startMs };
    const some = [minuteAfter(1), minute, atHour, minute].map((bucket) => partOf({ bucket }));
    expect(openBuckets(some).map(({ bucket, parts: its }) => [bucket, its.length])).toEqual([
      [minute, 2],
      [atHour, 1],
      [minuteAfter(1), 1],
    ]);
  });
});

describe('the plan', () => {
  test('leaves a bucket alone until a moment after its end', () => {
    const some = parts(3, { foldedAtMs: minute.startMs });
    expect(planCompaction(some, CLOSED_MS - 1)).toEqual({ groups: [], merges: [] });
    expect(planCompaction(some, CLOSED_MS)).toEqual({ groups: [some], merges: [] });
  });

  test('takes what is closed of an hour along as soon as one bucket of it is due', () => {
    const nowMs = minuteAfter(10).startMs;
    const due = partOf({ foldedAtMs: nowMs - PART_WAIT_MS });
    const waiting = partOf({ foldedAtMs: nowMs - 1, bucket: minuteAfter(1) });
    const open = partOf({ foldedAtMs: nowMs - 1, bucket: minuteAfter(10) });
    expect(groupsOf([waiting, open], nowMs)).toEqual([]);
    expect(groupsOf([due, waiting, open], nowMs)).toEqual([[due, waiting]]);
  });

  test('makes one commit of the minutes and late parts of an hour, and one of those of a day', () => {
    const nowMs = Date.UTC(2026, 10, 30, 15);
    const at = (level: Level, day: number, hour: number): PartRef =>
      partOf({ bucket: bucketOf(level, Date.UTC(2026, 10, day, hour, 59)) });
    const ofHour = [at('hour', 30, 13), at('minute', 30, 13)];
    const ofDay = [at('day', 20, 3), at('day', 20, 17)];
    const others = [at('minute', 30, 12), at('hour', 30, 11), at('day', 21, 0), at('hour', 20, 0)];
    const groups = groupsOf([...ofHour, ...others, ...ofDay], nowMs);
    // Parts of the first hour of a day and of the day begin at the same time, and stay apart.
    expect(groups).toHaveLength(2 + others.length);
    expect(groups).toContainEqual(ofHour);
    expect(groups).toContainEqual(ofDay);
    for (const part of others) expect(groups).toContainEqual([part]);
  });

  test('lets late parts wait for a minute, or for the 16th of them', () => {
    const foldedAtMs = CLOSED_MS + HOUR_MS;
    const late = parts(BUCKET_PARTS_DUE - 1, { foldedAtMs });
    expect(groupsOf(late, foldedAtMs + PART_WAIT_MS - 1)).toEqual([]);
    expect(groupsOf(late, foldedAtMs + PART_WAIT_MS)).toHaveLength(1);
    expect(groupsOf([...late, partOf({ foldedAtMs })], foldedAtMs)).toHaveLength(1);
  });

  test('merges the parts of an open bucket from the 16th on, but no large ones', () => {
    const small = parts(BUCKET_PARTS_DUE);
    expect(planCompaction(small.slice(1), FOLDED_MS)).toEqual({ groups: [], merges: [] });
    expect(planCompaction(small, FOLDED_MS)).toEqual({ groups: [], merges: [small] });
    const large = partOf({ bytes: PART_BYTES_MERGEABLE });
    expect(planCompaction([large, ...small], FOLDED_MS).merges).toEqual([small]);
    expect(planCompaction([large, ...small.slice(1)], FOLDED_MS).merges).toEqual([]);
  });

  test('merges in runs that give no larger part than a part may be', () => {
    const bytes = PART_BYTES_MERGEABLE - 1;
    const { merges } = planCompaction(parts(30, { bytes }), FOLDED_MS);
    expect(merges.map((run) => run.length)).toEqual([16, 14]);
    for (const run of merges) {
      expect(run.reduce((sum, part) => sum + part.bytes, 0)).toBeLessThanOrEqual(PART_BYTES_MAX);
    }
    // A run of one part would replace it by itself.
    expect(planCompaction(parts(17, { bytes }), FOLDED_MS).merges).toHaveLength(1);
  });

  test('compacts a full bucket although it is open, and only that', () => {
    const full = parts(BUCKET_PARTS_MAX);
    const other = partOf({ bucket: minuteAfter(1) });
    const { groups, merges } = planCompaction([...full, other], FOLDED_MS);
    expect(groups).toEqual([full]);
    expect(merges).toEqual([]);
  });

  test('has something to do at every time that it gave for a visit', () => {
    const shapes = [
      parts(1),
      parts(BUCKET_PARTS_DUE),
      parts(BUCKET_PARTS_MAX),
      parts(40, { bytes: PART_BYTES_MERGEABLE - 1 }),
      [...parts(3), ...parts(15, { bucket: minuteAfter(1) })],
      parts(3, { foldedAtMs: CLOSED_MS + HOUR_MS }),
    ];
    for (const some of shapes) {
      const foldedAtMs = Math.max(...some.map((part) => part.foldedAtMs));
      const dueMs = compactionDueMs(some, foldedAtMs) ?? Number.NaN;
      const { groups, merges } = planCompaction(some, Math.max(dueMs, foldedAtMs));
      expect(groups.length + merges.length).toBeGreaterThan(0);
    }
  });
});

describe('when the clock was set back', () => {
  const nowMs = CLOSED_MS + HOUR_MS;
  const future = partOf({ foldedAtMs: nowMs + 2 * HOUR_MS });

  test('parts of a closed bucket do not wait until it has caught up', () => {
    expect(compactionDueMs([future], nowMs)).toBeLessThanOrEqual(nowMs);
    expect(groupsOf([future], nowMs)).toHaveLength(1);
  });

  test('a little, as the clocks of two workers differ, changes nothing', () => {
    const foldedAtMs = nowMs + PART_WAIT_MS;
    expect(compactionDueMs([partOf({ foldedAtMs })], nowMs)).toBe(foldedAtMs + PART_WAIT_MS);
    const further = partOf({ foldedAtMs: foldedAtMs + 1 });
    expect(compactionDueMs([further], nowMs)).toBe(nowMs);
  });

  test('a bucket that is open again waits for its end as ever', () => {
    expect(compactionDueMs([future], FOLDED_MS)).toBe(CLOSED_MS);
    expect(planCompaction([future], FOLDED_MS)).toEqual({ groups: [], merges: [] });
  });
});

let partCount = 0;

function partOf(fields: Partial<PartRef> = {}): PartRef {
  partCount += 1;
  return { tag: `${partCount}`, bucket: minute, bytes: 100, foldedAtMs: FOLDED_MS, ...fields };
}

function parts(count: number, fields: Partial<PartRef> = {}): PartRef[] {
  return Array.from({ length: count }, () => partOf(fields));
}

function minuteAfter(minutes: number): Bucket {
  return { level: 'minute', startMs: minute.startMs + minutes * MINUTE_MS };
}

function groupsOf(some: readonly PartRef[], nowMs: number): readonly (readonly PartRef[])[] {
  return planCompaction(some, nowMs).groups;
}
