/*
 * What      How many different actors two views have both, or the first has and the second has not.
 * Paper     None: inclusion and exclusion over distinct counts. Ertl, 2017, "New cardinality
 *           estimation algorithms for HyperLogLog sketches", estimates both counts jointly, with a
 *           smaller error for small overlaps; not used, for want of a stated error.
 * Params    Two views under one hash key; their events are disjoint, their actors need not be.
 * Guarantee Exact while every actor of both is known by its hash. Else the estimate is the sum and
 *           difference of counts that have their own errors, and its error is as if these were
 *           independent. They share registers, so that errors cancel in part: lower and upper hold
 *           in at least 95 of 100 cases. Never below the actors known to be in both, never above
 *           the actors of a view. Where the margin is as large as the estimate, there is none.
 * Memory    The hashes that are known, and two sets of registers while one call runs.
 * Cost      That of three distinct counts.
 * Merge     None: whatever belongs to a view is in it.
 * Not       No overlap of more than two, and no list of the actors.
 */
import { ActorSet } from './actor-set.ts';
import type { DistinctOfView, SummaryView } from './summary-view.ts';

/** Two-sided 95 % of a normal distribution, which the estimator's error follows closely. */
const Z_95 = 1.96;

export type Overlap = 'intersection' | 'difference';

export interface OverlapOfActors {
  /** Null when it is not conclusive. */
  readonly estimate: number | null;
  /** Bounds at 95 %; equal to the estimate when exact. */
  readonly lower: number;
  readonly upper: number;
  /** Relative to the estimate; null with it; 0 when exact. */
  readonly standardError: number | null;
  readonly exact: boolean;
  /** False when the margin of the estimate is as large as it: it could as well be nothing. */
  readonly conclusive: boolean;
}

/** `both` is the view of all summaries of the first and the second. */
export function overlapOf(
  op: Overlap,
  first: SummaryView,
  second: SummaryView,
  both: SummaryView,
): OverlapOfActors {
  const ofFirst = first.distinct();
  const ofSecond = second.distinct();
  const common = commonHashes(first, second);
  if (ofFirst.exact && ofSecond.exact) {
    const size = op === 'intersection' ? common : ofFirst.estimate - common;
    const bounds = { estimate: size, lower: size, upper: size, standardError: 0 };
    return { ...bounds, exact: true, conclusive: true };
  }
  const ofBoth = both.distinct();
  if (op === 'difference') {
    const estimate = ofBoth.estimate - ofSecond.estimate;
    const error = Math.hypot(errorOf(ofBoth), errorOf(ofSecond));
    return concluded(estimate, error, 0, ofFirst.upper);
  }
  const estimate = ofFirst.estimate + ofSecond.estimate - ofBoth.estimate;
  const error = Math.hypot(errorOf(ofFirst), errorOf(ofSecond), errorOf(ofBoth));
  return concluded(estimate, error, common, Math.min(ofFirst.upper, ofSecond.upper));
}

/** `least` and `most` are known by other means than the estimate. */
function concluded(sum: number, error: number, least: number, most: number): OverlapOfActors {
  const within = (value: number): number =>
    Math.min(Math.max(Math.round(value), least), Math.max(most, least));
  const margin = Z_95 * error;
  const bounds = { lower: within(sum - margin), upper: within(sum + margin), exact: false };
  if (margin >= sum) return { ...bounds, estimate: null, standardError: null, conclusive: false };
  return { ...bounds, estimate: within(sum), standardError: error / sum, conclusive: true };
}

/** One standard error, in actors. */
function errorOf({ estimate, standardError }: DistinctOfView): number {
  return standardError * estimate;
}

/** Actors that are known by their hashes to be in both. */
function commonHashes(first: SummaryView, second: SummaryView): number {
  const known = hashesOf(first);
  let common = 0;
  hashesOf(second).forEach((lo, hi) => {
    if (known.has(lo, hi)) common += 1;
  });
  return common;
}

function hashesOf({ summaries }: SummaryView): ActorSet {
  const hashes = new ActorSet();
  for (const { actors } of summaries) {
    if (actors instanceof ActorSet) actors.forEach((lo, hi) => hashes.add(lo, hi));
  }
  return hashes;
}
