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
import { WeightedMedian, type WeightedValue } from '../lib/weighted-median.ts';

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

export class RestOfStream {
  readonly #ratios: WeightedMedian;

  /** `items`: those with most events in either window among them, each once. */
  constructor(items: readonly CountPair[], totals: CountPair) {
    let { now, before } = totals;
    const parts = items.map((item) => {
      if (Math.max(item.now, item.before) < LARGE_MIN) return { value: 1, weight: 0 };
      now -= item.now;
      before -= item.before;
      return partOf(item);
    });
    parts.push(partOf({ now, before }), { value: 1, weight: PRIOR_WEIGHT });
    this.#ratios = new WeightedMedian(parts);
  }

  /** The median ratio of all but the item of this index. */
  without(index: number): number {
    return Math.min(RATIO_MAX, Math.max(1 / RATIO_MAX, this.#ratios.median(index)));
  }
}

/** Sums of upper bounds can be larger than the exact total that they are taken from. */
function partOf({ now, before }: CountPair): WeightedValue {
  return { value: now / before, weight: Math.max(0, Math.min(now, before)) };
}
