/**
 * Into how many parts a key belongs, by how fast it is written to. Pure.
 *
 * It only ever says "more": parts that are no longer needed cost a read little, while a set that
 * shrinks in every quiet night and grows every evening moves its members twice a day. Shrinking is
 * a decision of its own, made elsewhere.
 */
import { assert } from '../lib/assert.ts';
import { compareRates, type KeyRate } from './hot-keys.ts';
import { PARTS_MAX } from './layout.ts';

/** Several parts a primary: one that leaves or lags then takes less of a key with it. */
const PARTS_PER_PRIMARY = 4;

export interface GrowthOptions {
  /** Writes per second of the key, over all processes. */
  readonly ratePerSecond: number;
  /** Writes per second that one part can take. */
  readonly partRatePerSecond: number;
  /** The fraction of that which stays free in each part, in [0, 1): a split takes time. */
  readonly headroom: number;
  readonly partsNow: number;
  /** The ceiling of growth, any integer from 1 on. */
  readonly partsMax: number;
}

/**
 * The least power of two of parts, from `partsNow` on, with rate / parts <= partRatePerSecond *
 * (1 - headroom), or the largest one that `partsMax` allows. A key that has more parts than that
 * already, as the cluster was larger once, keeps them.
 */
export function partsFor(options: GrowthOptions): number {
  const { ratePerSecond, partRatePerSecond, headroom, partsNow, partsMax } = options;
  assert(ratePerSecond >= 0 && partRatePerSecond > 0, 'rates are no less than nothing');
  assert(headroom >= 0 && headroom < 1, 'headroom is a fraction below 1');
  assert(isPowerOfTwo(partsNow), 'parts are a power of two');
  assert(Number.isInteger(partsMax) && partsMax >= 1, 'there may be one part at least');
  const plannedRate = partRatePerSecond * (1 - headroom);
  let parts = partsNow;
  while (ratePerSecond / parts > plannedRate && 2 * parts <= partsMax) parts *= 2;
  return parts;
}

/**
 * The ceiling of automatic growth, for a cluster with so many primaries; never above what a layout
 * holds. A single node is its own ceiling: parts would only share the one thread that is the limit.
 */
export function automaticPartsMax(primaryCount: number): number {
  assert(Number.isInteger(primaryCount) && primaryCount >= 1, 'there is a primary');
  return primaryCount === 1 ? 1 : Math.min(PARTS_PER_PRIMARY * primaryCount, PARTS_MAX);
}

/** What one process saw in one interval. */
export interface RateReport {
  /** Whose report it is: any name that no other process has. */
  readonly process: string;
  /** The end of its interval. */
  readonly atMs: number;
  readonly rates: readonly KeyRate[];
}

export interface SumOptions {
  readonly nowMs: number;
  /** Older reports, and those as far ahead, do not count: a process is gone, or its clock off. */
  readonly ageMsMax: number;
}

/** The rate of each key over all processes, hottest first; of each process its newest report. */
export function sumRates(
  reports: readonly RateReport[],
  { nowMs, ageMsMax }: SumOptions,
): KeyRate[] {
  const newest = new Map<string, RateReport>();
  for (const report of reports) {
    if (Math.abs(nowMs - report.atMs) > ageMsMax) continue;
    const known = newest.get(report.process);
    if (known === undefined || report.atMs > known.atMs) newest.set(report.process, report);
  }
  const sums = new Map<string, number>();
  for (const { rates } of newest.values()) {
    for (const { key, ratePerSecond } of rates) {
      sums.set(key, (sums.get(key) ?? 0) + ratePerSecond);
    }
  }
  return [...sums].map(([key, ratePerSecond]) => ({ key, ratePerSecond })).sort(compareRates);
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(count) && count >= 1 && Number.isInteger(Math.log2(count));
}
