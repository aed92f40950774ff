import type { SummaryShape } from '../../src/sketches/summary.ts';
import {
  EXPIRY_SLACK_MS,
  LEVEL_MS,
  LEVELS,
  type Level,
  MINUTE_MS,
  type Retention,
} from '../../src/streams/buckets.ts';

/** Header, totals, heads of the sections, registers of the actors. */
const FIXED_BYTES = 12_400;
/** Head of the column. */
const VIEWERS_FIXED_BYTES = 64;
/** Tag and generation before each column in Redis. */
const STORED_HEAD_BYTES = 32;

export interface Load {
  /** In one partition. */
  readonly eventsPerMinute: number;
  /** Of one item. */
  readonly itemBytes: number;
}

/**
 * What so many varints take at most whose sum is known: one of x takes at most 1 + log128(1 + x)
 * bytes, which is concave, so the sum is largest when all are equal.
 */
function varintsBytesMax(count: number, sum: number): number {
  return Math.ceil(count * (1 + Math.log(1 + sum / count) / Math.log(128)));
}

/** The formula of docs/operations.md: what the counts of one summary take at most. */
export function countsBytesMax(shape: SummaryShape, events: number, itemBytes: number): number {
  const { width, depth, candidates, exactItems, exactItemBytes } = shape;
  const exact =
    Math.min(exactItems * itemBytes, exactItemBytes) +
    2 * exactItems +
    varintsBytesMax(exactItems, events);
  const sketched =
    depth * varintsBytesMax(width, events) +
    candidates * (itemBytes + 2) +
    2 * varintsBytesMax(candidates, events);
  return FIXED_BYTES + Math.max(exact, sketched);
}

export function viewersBytesMax({ viewerBytes }: SummaryShape): number {
  return VIEWERS_FIXED_BYTES + viewerBytes;
}

/** Closed summaries of a level that can be there at once. */
export function summariesMax(level: Level, retention: Retention): number {
  return Math.ceil((retention[level] + EXPIRY_SLACK_MS) / LEVEL_MS[level]) + 1;
}

/** Both columns of one summary as they are stored. */
export function summaryBytesMax(shape: SummaryShape, level: Level, load: Load): number {
  const events = (load.eventsPerMinute * LEVEL_MS[level]) / MINUTE_MS;
  const counts = countsBytesMax(shape, Math.min(events, 2 ** 53), load.itemBytes);
  return counts + viewersBytesMax(shape) + 2 * STORED_HEAD_BYTES;
}

/** Closed summaries of one share in one partition, each as large as can be. */
export function shareBytesMax(shape: SummaryShape, retention: Retention, load: Load): number {
  return LEVELS.map((level) => {
    return summariesMax(level, retention) * summaryBytesMax(shape, level, load);
  }).reduce((sum, bytes) => sum + bytes, 0);
}
