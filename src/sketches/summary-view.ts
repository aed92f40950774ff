/*
 * What      One answer from many summaries (minutes, hours, partitions) without merging their cells:
 *           an item's bounds summed summary by summary are tighter than those of summed cells.
 * Paper     Bounds as in item-sketch.ts; distinct actors by Ertl's estimator (hyperloglog.ts).
 * Params    Summaries of disjoint events under one hash key.
 * Guarantee lower <= true <= upper for every item; no item outside of the rows of `top(k)` has
 *           occurred more than `maxUnlisted` times; everything is exact when `itemsExact`.
 * Memory    One table of the listed items of all summaries while `top` runs.
 * Cost      top: the listed items of all summaries, and depth * summaries for each item that can be
 *           among the first k + 1.
 * Merge     A view of two lists of summaries is the view of both lists together.
 * Not       It keeps no copy: summaries must not change while they are viewed.
 */
import { ActorSet } from './actor-set.ts';
import { guaranteeOf } from './count-min.ts';
import type { KeyedHash } from './hash.ts';
import { HyperLogLog } from './hyperloglog.ts';
import type { Summary } from './summary.ts';
import { type Candidate, compareCandidates } from './top-k.ts';

/** Two-sided 95 % of a normal distribution, which the estimator's error follows closely. */
const Z_95 = 1.96;

export interface TopOfView {
  /** In the order of compareCandidates. */
  readonly rows: readonly Candidate[];
  readonly maxUnlisted: number;
}

export interface DistinctOfView {
  readonly estimate: number;
  readonly lower: number;
  readonly upper: number;
  /** Relative; 0 when exact. */
  readonly standardError: number;
  readonly exact: boolean;
}

interface Listing {
  upper: number;
  lower: number;
  /** Sum of the cut-offs of the summaries that list the item. */
  cutWhereListed: number;
}

export class SummaryView {
  readonly summaries: readonly Summary[];
  readonly #hash: KeyedHash;

  constructor(summaries: readonly Summary[], hash: KeyedHash) {
    this.summaries = summaries;
    this.#hash = hash;
  }

  get total(): number {
    return bounded(sum(this.summaries, (summary) => summary.total));
  }

  get withoutActor(): number {
    return bounded(sum(this.summaries, (summary) => summary.withoutActor));
  }

  get itemsExact(): boolean {
    return this.summaries.every((summary) => summary.itemsExact);
  }

  get saturated(): boolean {
    const total = sum(this.summaries, (summary) => summary.total);
    return total > Number.MAX_SAFE_INTEGER || this.summaries.some((summary) => summary.saturated);
  }

  /** An estimate is at most this much too high, with the sketches' confidence; 0 when exact. */
  get errorBound(): number {
    const bound = sum(this.summaries, (summary) => {
      if (summary.itemsExact) return 0;
      return guaranteeOf(summary.context.shape).epsilon * summary.total;
    });
    return Math.ceil(bound);
  }

  /** An item's bounds: lower <= true count <= upper. */
  countOf(item: string): { lower: number; upper: number } {
    this.#hash.hashString(item);
    const { lo, hi } = this.#hash;
    let lower = 0;
    let upper = 0;
    for (const summary of this.summaries) {
      lower += summary.lowerOf(item);
      upper += summary.upperOf(item, lo, hi);
    }
    return { lower: bounded(lower), upper: bounded(upper) };
  }

  /** The k items with the largest upper bounds; k >= 1. */
  top(k: number): TopOfView {
    const cutSum = sum(this.summaries, (summary) => summary.cut);
    const listings = this.#listings();
    const least = leastOfLargest(listings, k + 1);
    const rows: Candidate[] = [];
    for (const [item, { upper, lower, cutWhereListed }] of listings) {
      // An item's upper bound is at most this: no need to look into cells for the hopeless.
      if (upper + cutSum - cutWhereListed < least) continue;
      rows.push({ item, lower: bounded(lower), upper: bounded(this.#upperOf(item, upper)) });
    }
    rows.sort(compareCandidates);
    const firstLeftOut = rows[k]?.upper ?? 0;
    return { rows: rows.slice(0, k), maxUnlisted: bounded(Math.max(cutSum, firstLeftOut)) };
  }

  /** Different actors over all summaries; never above the number of events with an actor. */
  distinct(): DistinctOfView {
    const most = this.total - this.withoutActor;
    const exact = new ActorSet();
    const registers = new HyperLogLog();
    let isExact = true;
    for (const { actors } of this.summaries) {
      if (actors instanceof HyperLogLog) {
        isExact = false;
        registers.merge(actors);
      } else {
        actors.forEach((lo, hi) => exact.add(lo, hi));
      }
    }
    if (isExact) {
      const { size } = exact;
      return { estimate: size, lower: size, upper: size, standardError: 0, exact: true };
    }
    exact.forEach((lo, hi) => registers.addHash(lo, hi));
    // A count of different actors is at least what is known exactly and at most all events.
    const least = exact.size;
    const within = (value: number): number =>
      Math.min(Math.max(Math.round(value), least), Math.max(most, least));
    const estimate = registers.estimate();
    const margin = Z_95 * HyperLogLog.standardError * estimate;
    return {
      estimate: within(estimate),
      lower: within(estimate - margin),
      upper: within(estimate + margin),
      standardError: HyperLogLog.standardError,
      exact: false,
    };
  }

  #listings(): Map<string, Listing> {
    const listings = new Map<string, Listing>();
    for (const summary of this.summaries) {
      const { cut } = summary;
      summary.forEachListed((item, upper, lower) => {
        const listing = listings.get(item);
        if (listing === undefined) {
          listings.set(item, { upper, lower, cutWhereListed: cut });
        } else {
          listing.upper += upper;
          listing.lower += lower;
          listing.cutWhereListed += cut;
        }
      });
    }
    return listings;
  }

  /** The listed upper bounds' sum, and what the summaries can hold that do not list the item. */
  #upperOf(item: string, listedUpper: number): number {
    this.#hash.hashString(item);
    const { lo, hi } = this.#hash;
    let upper = listedUpper;
    for (const summary of this.summaries) {
      if (summary.cut > 0 && summary.listed(item) === undefined) {
        upper += summary.upperOf(item, lo, hi);
      }
    }
    return upper;
  }
}

/** The n-th largest of the listed upper bounds, each of which is at most the item's final one. */
function leastOfLargest(listings: ReadonlyMap<string, Listing>, n: number): number {
  if (listings.size < n) return 0;
  const uppers = new Float64Array(listings.size);
  let index = 0;
  for (const { upper } of listings.values()) uppers[index++] = upper;
  uppers.sort();
  return uppers[uppers.length - n]!;
}

function sum(summaries: readonly Summary[], value: (summary: Summary) => number): number {
  return summaries.reduce((total, summary) => total + value(summary), 0);
}

function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}
