/*
 * What      One answer from many summaries (minutes, hours, partitions) without merging their
 *           cells: an item's bounds summed one by one are tighter than those of summed cells.
 * Paper     Bounds as in item-sketch.ts; distinct actors by Ertl's estimator (hyperloglog.ts). The
 *           search for the top in three steps: Cao, Wang, 2004, "Efficient top-K query calculation
 *           in distributed networks"; deviation: thresholds in proportion to the totals.
 * Params    Summaries of disjoint events under one hash key; weights that their counts are
 *           multiplied by (1 each, unless given); items that are not to be shown.
 * Guarantee lower <= true <= upper for every item's weighted count; no shown item outside of the
 *           rows of `top(k)` has a larger one than `maxUnlisted`; everything is exact when
 *           `itemsExact`.
 * Memory    One table of the items that may be in the answer while `top` runs.
 * Cost      top: a pass over the listed counts, then summaries * depth for each item that may be in
 *           the answer: few where some items stand out, else at most all listed ones.
 * Merge     A view of two lists of summaries is the view of both lists together.
 * Not       It keeps no copy: summaries must not change while they are viewed.
 */
import { nthLargest } from '../lib/nth-largest.ts';
import { ActorSet } from './actor-set.ts';
import { type Bounds, type Candidate, compareCandidates } from './candidate.ts';
import { guaranteeOf } from './count-min.ts';
import type { KeyedHash } from './hash.ts';
import { HyperLogLog } from './hyperloglog.ts';
import { ItemKey } from './item-key.ts';
import type { Summary } from './summary.ts';

/** Two-sided 95 % of a normal distribution, which the estimator's error follows closely. */
const Z_95 = 1.96;
/** The search for the top begins with so many times as many items of some summaries. */
const HEAD_FACTOR = 2;
/** How many: what is on top overall is mostly on top in each of them. */
const HEAD_SUMMARIES = 8;
/** What is guessed from them is taken for so much: of a bit too much no harm comes. */
const GUESS_FACTOR = 0.75;
/** Looking an item up takes about as long as going through so many. */
const LOOK_UP_COST = 3;
/** Of more rows than this part of all the search gains nothing. */
const NOTED_SHARE_MAX = 0.25;
/** Keeps sums of shares at or below their whole whatever floating point rounds. */
const ROUNDING_SLACK = 1 - 1e-9;

export interface TopOfView {
  /** In the order of compareCandidates. */
  readonly rows: readonly Candidate[];
  readonly maxUnlisted: number;
}

export interface ViewOptions {
  /** One for each summary, at least 0: what an event of it counts. */
  readonly weights?: readonly number[] | undefined;
  /** Such an item is in no list. */
  readonly isHidden?: ((item: string) => boolean) | undefined;
}

export interface DistinctOfView {
  readonly estimate: number;
  readonly lower: number;
  readonly upper: number;
  /** Relative; 0 when exact. */
  readonly standardError: number;
  readonly exact: boolean;
}

/** An item's bounds, summed over those summaries where they are large. */
interface Notes {
  upper: number;
  lower: number;
  /** The largest `spare` of which the item reaches its share in one of them. */
  peak: number;
  /** Their indexes, ascending. */
  readonly seenIn: number[];
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
  readonly #weights: readonly number[];
  readonly #isHidden: (item: string) => boolean;

  constructor(
    summaries: readonly Summary[],
    hash: KeyedHash,
    { weights, isHidden = () => false }: ViewOptions = {},
  ) {
    this.summaries = summaries;
    this.#hash = hash;
    this.#weights = weights ?? summaries.map(() => 1);
    this.#isHidden = isHidden;
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
    const bound = sum(this.summaries, ({ cellShape, total }) => {
      return cellShape === null ? 0 : guaranteeOf(cellShape).epsilon * total;
    });
    return Math.ceil(bound);
  }

  /** An item's bounds, hidden or not: lower <= true weighted count <= upper. */
  countOf(item: string): Bounds {
    const { lower, upper } = this.#completed(item, { upper: 0, lower: 0, peak: 0, seenIn: [] });
    return { lower, upper };
  }

  /** All shown items whose lower bound is `least` or more; `least` is above 0. */
  listedAbove(least: number): Candidate[] {
    const rows: Candidate[] = [];
    for (const [item, { upper, lower }] of this.#listings()) {
      // What is not listed somewhere has no lower bound there.
      if (lower < least) continue;
      rows.push({ item, lower: bounded(lower), upper: bounded(this.#upperOf(item, upper)) });
    }
    return rows.sort(compareCandidates);
  }

  /** The k items with the largest upper bounds; k >= 1. */
  top(k: number): TopOfView {
    const contenders = this.#contenders(k + 1);
    const rows = contenders ?? this.#largestOfAll(k + 1);
    rows.sort(compareCandidates);
    const firstLeftOut = rows[k]?.upper ?? 0;
    return {
      rows: rows.slice(0, k),
      maxUnlisted: bounded(Math.max(this.#cutSum, firstLeftOut)),
    };
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

  get #weightedTotal(): number {
    return sum(this.summaries, (summary, index) => summary.total * this.#weights[index]!);
  }

  /** No item that no summary lists has a larger count. */
  get #cutSum(): number {
    return sum(this.summaries, (summary, index) => summary.cut * this.#weights[index]!);
  }

  /**
   * Every item that can be among the n with the largest upper bounds; null when these are so many
   * that looking each of them up would take longer than going through all.
   *
   * An item whose upper bounds sum up to `least` or more reaches the share of `least` in some
   * summary, however the shares are chosen. Here a share is the cut-off, so that the summary lists
   * whatever reaches it, and a part of what remains (`spare`) in proportion to the summary's total.
   * So all summaries are gone through once, with shares that are guessed a little too small.
   */
  #contenders(n: number): Candidate[] | null {
    const cutSum = this.#cutSum;
    const listedCount = sum(this.summaries, (summary) => summary.listed.size);
    const isTooMany = (items: number): boolean =>
      items * this.summaries.length * LOOK_UP_COST > listedCount;
    if (isTooMany(n)) return null;
    let noted: Map<string, Notes> | null;
    let guess: number;
    let spare = (this.#guessedLeast(n) - cutSum) * GUESS_FACTOR;
    do {
      if (spare <= 0) return null;
      guess = spare;
      noted = this.#noteAbove(guess, listedCount * NOTED_SHARE_MAX);
      if (noted === null) return null;
      const uppers = Float64Array.from(noted.values(), ({ upper }) => upper);
      // The n-th largest upper bound of all items is at least that of what was noted.
      spare = (nthLargestOr0(uppers, n) - cutSum) * ROUNDING_SLACK;
    } while (spare < guess);
    const contenders = [...noted].filter(([, { peak }]) => peak >= spare);
    if (isTooMany(contenders.length)) return null;
    return contenders.map(([item, notes]) => this.#completed(item, notes));
  }

  /** About the n-th largest upper bound: from the first items of some summaries. */
  #guessedLeast(n: number): number {
    const headSize = HEAD_FACTOR * n;
    const step = Math.ceil(this.summaries.length / HEAD_SUMMARIES);
    const sums = new Map<string, number>();
    let sampledTotal = 0;
    for (let index = 0; index < this.summaries.length; index += step) {
      const { listed, total } = this.summaries[index]!;
      const weight = this.#weights[index]!;
      sampledTotal += total * weight;
      // Only items above the first left out: of many equal counts none stands out.
      const least = listed.size > headSize ? nthLargest(listed.uppers(), headSize + 1) + 1 : 0;
      const addUp = (item: string, upper: number): void => {
        if (!this.#isHidden(item)) sums.set(item, (sums.get(item) ?? 0) + upper * weight);
      };
      listed.forEach(addUp, least);
    }
    if (sampledTotal === 0) return 0;
    const found = nthLargestOr0(Float64Array.from(sums.values()), n);
    return (found / sampledTotal) * this.#weightedTotal;
  }

  /**
   * What reaches its share of `spare` beyond the cut-off, in each summary where it does; null when
   * there are more than `rowsMax` such rows.
   */
  #noteAbove(spare: number, rowsMax: number): Map<string, Notes> | null {
    const noted = new Map<string, Notes>();
    const weightedTotal = this.#weightedTotal;
    let rowCount = 0;
    for (const [index, { listed, cut, total }] of this.summaries.entries()) {
      const weight = this.#weights[index]!;
      if (total * weight === 0) continue;
      /** From a count in this summary to what a like share of all would be. */
      const scale = weightedTotal / total;
      const note = (item: string, upper: number, lower: number): void => {
        const peak = (upper - cut) * scale;
        rowCount += 1;
        if (this.#isHidden(item)) return;
        const notes = noted.get(item);
        if (notes === undefined) {
          noted.set(item, { upper: upper * weight, lower: lower * weight, peak, seenIn: [index] });
          return;
        }
        notes.upper += upper * weight;
        notes.lower += lower * weight;
        notes.peak = Math.max(notes.peak, peak);
        notes.seenIn.push(index);
      };
      listed.forEach(note, cut + (spare * ROUNDING_SLACK) / scale);
      if (rowCount > rowsMax) return null;
    }
    return noted;
  }

  /** With the other summaries looked up. */
  #completed(item: string, { upper, lower, seenIn }: Notes): Candidate {
    const key = new ItemKey(item, this.#hash);
    let next = 0;
    for (const [index, summary] of this.summaries.entries()) {
      if (seenIn[next] === index) {
        next += 1;
        continue;
      }
      const bounds = summary.boundsOf(key);
      const weight = this.#weights[index]!;
      upper += bounds.upper * weight;
      lower += bounds.lower * weight;
    }
    return { item, lower: bounded(lower), upper: bounded(upper) };
  }

  /** All items that can be among the n with the largest upper bounds, by way of all listed ones. */
  #largestOfAll(n: number): Candidate[] {
    const cutSum = this.#cutSum;
    const listings = this.#listings();
    const uppers = Float64Array.from(listings.values(), ({ upper }) => upper);
    const least = nthLargestOr0(uppers, n);
    const rows: Candidate[] = [];
    for (const [item, { upper, lower, cutWhereListed }] of listings) {
      // An item's upper bound is at most this: no need to look into cells for the hopeless.
      if (upper + cutSum - cutWhereListed < least) continue;
      rows.push({ item, lower: bounded(lower), upper: bounded(this.#upperOf(item, upper)) });
    }
    return rows;
  }

  #listings(): Map<string, Listing> {
    const listings = new Map<string, Listing>();
    for (const [index, { listed, cut }] of this.summaries.entries()) {
      const weight = this.#weights[index]!;
      listed.forEach((item, upper, lower) => {
        const listing = listings.get(item);
        if (listing !== undefined) {
          listing.upper += upper * weight;
          listing.lower += lower * weight;
          listing.cutWhereListed += cut * weight;
        } else if (!this.#isHidden(item)) {
          const bounds = { upper: upper * weight, lower: lower * weight };
          listings.set(item, { ...bounds, cutWhereListed: cut * weight });
        }
      });
    }
    return listings;
  }

  /** The listed upper bounds' sum, and what the summaries can hold that do not list the item. */
  #upperOf(item: string, listedUpper: number): number {
    const key = new ItemKey(item, this.#hash);
    let upper = listedUpper;
    for (const [index, summary] of this.summaries.entries()) {
      if (summary.cut > 0 && summary.listed.boundsOf(key) === undefined) {
        upper += summary.boundsOf(key).upper * this.#weights[index]!;
      }
    }
    return upper;
  }
}

function nthLargestOr0(values: Float64Array, n: number): number {
  return values.length < n ? 0 : nthLargest(values, n);
}

function sum(
  summaries: readonly Summary[],
  value: (summary: Summary, index: number) => number,
): number {
  return summaries.reduce((total, summary, index) => total + value(summary, index), 0);
}

function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}
