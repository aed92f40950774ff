/**
 * How many times as busy the rest of a stream is now as it was in an earlier window. Without it the
 * evening, the weekend or a growing stream would make every item unusual.
 *
 * Not the ratio of the totals: one flood of events, now or then, would move it. Instead the median
 * of the items' ratios now / before, each weighing min(now, before), as Anders, Huber, 2010,
 * "Differential expression analysis for sequence count data", take the median of ratios for the same
 * purpose: what has changed by itself does not decide as long as it is less than half. Items that
 * are small in both windows take part as one, known by name or not; so does a ratio of 1 with a
 * small weight, so that little of a stream decides little.
 */
import { assert } from '../lib/assert.ts';

/** Smaller items take part together: which of them are known is chance, and would tilt ratios. */
const LARGE_MIN = 40;
/** Of the ratio 1; more than a small item weighs, so that no item is the rest of itself. */
const PRIOR_WEIGHT = 50;
/** The rest of the stream explains a change by so much at most. */
const RATIO_MAX = 5;

/** Counts of an item, or of a stream, now and in the earlier window. */
export interface CountPair {
  readonly now: number;
  readonly before: number;
}

interface Part {
  /** Of an item; -1 for those that are in no item's place. */
  readonly index: number;
  readonly ratio: number;
  readonly weight: number;
}

export class RestOfStream {
  readonly #ratios: readonly number[];
  /** Weights summed up to each of the ratios. */
  readonly #sums: Float64Array;
  /** Places of the items that take part by themselves. */
  readonly #places = new Map<number, number>();

  /** `items`: those with most events in either window among them, each once. */
  constructor(items: readonly CountPair[], totals: CountPair) {
    const parts: Part[] = [{ index: -1, ratio: 1, weight: PRIOR_WEIGHT }];
    let { now, before } = totals;
    for (const [index, item] of items.entries()) {
      if (Math.max(item.now, item.before) < LARGE_MIN) continue;
      parts.push(partOf(index, item));
      now -= item.now;
      before -= item.before;
    }
    parts.push(partOf(-1, { now, before }));
    const ordered = parts
      .filter(({ weight }) => weight > 0)
      .sort((a, b) => a.ratio - b.ratio || a.index - b.index);
    this.#ratios = ordered.map(({ ratio }) => ratio);
    this.#sums = new Float64Array(ordered.length);
    let sum = 0;
    for (const [place, { index, weight }] of ordered.entries()) {
      sum += weight;
      this.#sums[place] = sum;
      if (index >= 0) this.#places.set(index, place);
    }
  }

  /** The median ratio of all but the item of this index. */
  without(index: number): number {
    const sums = this.#sums;
    const own = this.#places.get(index) ?? sums.length;
    const ownWeight = own < sums.length ? sums[own]! - (sums[own - 1] ?? 0) : 0;
    const half = (sums.at(-1)! - ownWeight) / 2;
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const sum = sums[middle]! - (own <= middle ? ownWeight : 0);
      if (sum >= half) high = middle;
      else low = middle + 1;
    }
    assert(low !== own, 'the ratio 1 always takes part');
    return Math.min(RATIO_MAX, Math.max(1 / RATIO_MAX, this.#ratios[low]!));
  }
}

/** Sums of upper bounds can be larger than the exact total that they are taken from. */
function partOf(index: number, { now, before }: CountPair): Part {
  return { index, ratio: now / before, weight: Math.max(0, Math.min(now, before)) };
}
