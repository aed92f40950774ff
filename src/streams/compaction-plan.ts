/**
 * When open parts want to be merged or compacted, and which of them go together. Pure: from the
 * index of a share's parts and the time.
 */
import { type Bucket, bucketEndMs, bucketKey, bucketOf } from './buckets.ts';
import {
  BUCKET_PART_BYTES_MAX,
  BUCKET_PARTS_DUE,
  BUCKET_PARTS_MAX,
  CLOSE_DELAY_MS,
  PART_BYTES_MAX,
  PART_BYTES_MERGEABLE,
  PART_WAIT_MS,
} from './limits.ts';
import type { PartRef } from './store-port.ts';

/** A bucket with its open parts. */
export interface OpenBucket {
  readonly bucket: Bucket;
  readonly parts: readonly PartRef[];
}

export interface CompactionPlan {
  /** Parts of closed (or full) buckets, in groups that become one commit each. */
  readonly groups: readonly (readonly PartRef[])[];
  /** Parts of one open bucket each, to be merged into one part. */
  readonly merges: readonly (readonly PartRef[])[];
}

export function openBuckets(parts: readonly PartRef[]): OpenBucket[] {
  const byBucket = new Map<string, { bucket: Bucket; parts: PartRef[] }>();
  for (const part of parts) {
    const key = bucketKey(part.bucket);
    const known = byBucket.get(key);
    if (known === undefined) byBucket.set(key, { bucket: part.bucket, parts: [part] });
    else known.parts.push(part);
  }
  return [...byBucket.values()].sort((a, b) => a.bucket.startMs - b.bucket.startMs);
}

/** True when a bucket takes no more parts: it is compacted although it may still be open. */
export function isFull({ parts }: OpenBucket): boolean {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  return parts.length >= BUCKET_PARTS_MAX || bytes >= BUCKET_PART_BYTES_MAX;
}

/** When the share wants its next visit; null without parts. */
export function compactionDueMs(parts: readonly PartRef[], nowMs: number): number | null {
  const times = openBuckets(parts).map((open) => bucketDueMs(open, nowMs));
  return times.length === 0 ? null : Math.min(...times);
}

export function planCompaction(parts: readonly PartRef[], nowMs: number): CompactionPlan {
  const groups = new Map<string, { parts: PartRef[]; isDue: boolean }>();
  const merges: (readonly PartRef[])[] = [];
  for (const open of openBuckets(parts)) {
    const full = isFull(open);
    if (isClosed(open.bucket, nowMs) || full) {
      const key = groupKey(open.bucket);
      const group = groups.get(key) ?? { parts: [], isDue: false };
      group.parts.push(...open.parts);
      group.isDue ||= full || bucketDueMs(open, nowMs) <= nowMs;
      groups.set(key, group);
    } else if (mergeable(open).length >= BUCKET_PARTS_DUE) {
      merges.push(...mergesOf(open));
    }
  }
  const due = [...groups.values()].filter(({ isDue }) => isDue);
  return { groups: due.map((group) => group.parts), merges };
}

/**
 * An hour's minutes and the hour itself go together, so that a commit replaces at most 62
 * summaries; parts of a day are of a time whose hours are gone.
 */
function groupKey({ level, startMs }: Bucket): string {
  return bucketKey(level === 'day' ? { level, startMs } : bucketOf('hour', startMs));
}

function bucketDueMs(open: OpenBucket, nowMs: number): number {
  if (isFull(open)) return nowMs;
  const closed = isClosed(open.bucket, nowMs);
  const waiting = closed ? open.parts : mergeable(open);
  if (waiting.length >= BUCKET_PARTS_DUE) return nowMs;
  const oldestMs = Math.min(...open.parts.map((part) => part.foldedAtMs));
  // Workers' clocks differ a little. More than that, the clock was set back: nobody waits for it.
  const waitEndMs = oldestMs > nowMs + PART_WAIT_MS ? nowMs : oldestMs + PART_WAIT_MS;
  return Math.max(closedFromMs(open.bucket), waitEndMs);
}

function isClosed(bucket: Bucket, nowMs: number): boolean {
  return closedFromMs(bucket) <= nowMs;
}

function closedFromMs(bucket: Bucket): number {
  return bucketEndMs(bucket) + CLOSE_DELAY_MS;
}

function mergeable({ parts }: OpenBucket): PartRef[] {
  return parts.filter((part) => part.bytes < PART_BYTES_MERGEABLE);
}

/** Cuts the mergeable parts into runs of at most PART_BYTES_MAX together. */
function mergesOf(open: OpenBucket): PartRef[][] {
  const runs: PartRef[][] = [];
  let run: PartRef[] = [];
  let runBytes = 0;
  for (const part of mergeable(open)) {
    if (runBytes + part.bytes > PART_BYTES_MAX) {
      runs.push(run);
      run = [];
      runBytes = 0;
    }
    run.push(part);
    runBytes += part.bytes;
  }
  runs.push(run);
  return runs.filter(({ length }) => length > 1);
}
