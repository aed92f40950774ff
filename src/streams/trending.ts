/**
 * What is unusually frequent: the statistic. Pure; the question (questions/trending.ts) reads the
 * window and the earlier windows that say what is usual.
 *
 * An item's count now is compared with its counts u_i in D earlier windows, upper bounds all of
 * them. The rhythm of the week is taken out by the rest of the stream: s_i is all other events now
 * by all other events then, so that u_i * s_i is what would be usual now. That is the experiment of
 * Li, Ma, 1983, "Analysis methods for results in gamma-ray astronomy": N_on counts in one unit of
 * exposure, N_off = sum of u_i in E = sum of 1 / s_i units, and how many standard deviations N_on is
 * above what N_off lets expect (equation 17, with alpha = 1 / E):
 *
 *   S^2 / 2 = N_on ln((1 + alpha) / alpha * N_on / (N_on + N_off))
 *           + N_off ln((1 + alpha) * N_off / (N_on + N_off))
 *
 * It holds for counts that scatter like Poisson's. Those that scatter more from window to window
 * have a larger variance by the factor phi, Pearson's chi^2 by D - 1, for which S is divided by the
 * root of phi (McCullagh, Nelder, 1989, "Generalized linear models", 4.5).
 *
 * An item trends when its lower bound now is at least minSupport, has a score of TRENDING_SCORE_MIN
 * or more with that lower bound as N_on, and is above every u_i * s_i. So what a sketch may have
 * added to a count never makes an item trend: it is left out of N_on and part of each u_i.
 */
import type { Bounds } from '../sketches/candidate.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { CountBounds } from './answers.ts';
import { TRENDING_SCORE_MIN } from './limits.ts';

/** Is added to the rest of the stream on both sides, so that little of it decides little. */
const REST_PRIOR = 100;
/** The rest of the stream explains a change by so much at most. */
const SCALE_MAX = 5;
/** Bounds of a share lie so many standard deviations from it. */
const SHARE_ERRORS = 3;

/** An item with its counts now and in each of the earlier windows. */
export interface ItemHistory {
  readonly item: string;
  readonly now: Bounds;
  readonly usual: readonly CountBounds[];
}

export interface ScoredItem {
  readonly item: string;
  readonly now: Bounds;
  /** Mean of the scaled counts of the earlier windows. */
  readonly expected: number;
  /** `now.lower` by `expected`; null when nothing was expected. */
  readonly lift: number | null;
  readonly score: number;
  /** One for each earlier window: what its count is to be multiplied by. */
  readonly scales: readonly number[];
}

export interface TrendingInput {
  readonly items: readonly ItemHistory[];
  /** Of the stream, now and in each of the earlier windows. */
  readonly total: number;
  readonly usualTotals: readonly number[];
  readonly minSupport: number;
}

/** All items that trend, by score descending, then by the items' bytes. */
export function trendingItems(input: TrendingInput): ScoredItem[] {
  const first = scoredItems(input, []);
  // What trends is no part of the rest that all others are measured by.
  const trending = new Set(first.map(({ item }) => item));
  const excluded = input.items.filter(({ item }) => trending.has(item));
  return excluded.length === 0 ? first : scoredItems(input, excluded);
}

/** The part of a bucket's counts that falls into a fraction 0..1 of it, taken as even. */
export function shareOfBounds({ lower, upper }: Bounds, fraction: number): CountBounds {
  if (fraction >= 1) return { count: upper, lower, upper };
  const variance = fraction * (1 - fraction);
  const least = lower * fraction - SHARE_ERRORS * Math.sqrt(lower * variance);
  const most = upper * fraction + SHARE_ERRORS * Math.sqrt(upper * variance);
  return {
    count: upper * fraction,
    lower: Math.max(0, least),
    upper: Math.min(upper, most),
  };
}

/** Li and Ma's S, equation 17; 0 where nothing is above what is expected. */
export function liMaScore(on: number, off: number, exposure: number): number {
  if (on * exposure <= off) return 0;
  const alpha = 1 / exposure;
  const both = on + off;
  const onTerm = on * Math.log(((1 + alpha) / alpha) * (on / both));
  const offTerm = off === 0 ? 0 : off * Math.log((1 + alpha) * (off / both));
  return Math.sqrt(2 * Math.max(0, onTerm + offTerm));
}

function scoredItems(input: TrendingInput, excluded: readonly ItemHistory[]): ScoredItem[] {
  const rest = {
    now: input.total - sum(excluded, ({ now }) => now.upper),
    usual: input.usualTotals.map(
      (total, at) => total - sum(excluded, ({ usual }) => usual[at]!.count),
    ),
  };
  const names = new Set(excluded.map(({ item }) => item));
  return input.items
    .map((history) => {
      const isExcluded = names.has(history.item);
      const scales = history.usual.map(({ count }, at) =>
        scaleOf(
          rest.now - (isExcluded ? 0 : history.now.upper),
          rest.usual[at]! - (isExcluded ? 0 : count),
        ),
      );
      return scored(history, scales, input.minSupport);
    })
    .filter((row) => row !== null)
    .sort((a, b) => b.score - a.score || compareUtf8(a.item, b.item));
}

/** Null when the item does not trend. */
function scored(
  { item, now, usual }: ItemHistory,
  scales: readonly number[],
  minSupport: number,
): ScoredItem | null {
  if (now.lower < minSupport) return null;
  const scaledUppers = usual.map(({ upper }, at) => upper * scales[at]!);
  if (scaledUppers.some((upper) => now.lower <= upper)) return null;
  const off = usual.reduce((total, { upper }) => total + upper, 0);
  const exposure = scales.reduce((total, scale) => total + 1 / scale, 0);
  const score = liMaScore(now.lower, off, exposure) / Math.sqrt(dispersion(usual, scales));
  if (score < TRENDING_SCORE_MIN) return null;
  const scaled = usual.reduce((total, { count }, at) => total + count * scales[at]!, 0);
  const expected = scaled / usual.length;
  return { item, now, expected, lift: expected > 0 ? now.lower / expected : null, score, scales };
}

function scaleOf(restNow: number, restThen: number): number {
  const scale = (Math.max(0, restNow) + REST_PRIOR) / (Math.max(0, restThen) + REST_PRIOR);
  return Math.min(SCALE_MAX, Math.max(1 / SCALE_MAX, scale));
}

/** Pearson's chi^2 of the windows' counts by its degrees of freedom; at least 1. */
function dispersion(usual: readonly CountBounds[], scales: readonly number[]): number {
  const total = usual.reduce((sumOf, { count }) => sumOf + count, 0);
  const exposure = scales.reduce((sumOf, scale) => sumOf + 1 / scale, 0);
  if (total === 0 || usual.length < 2) return 1;
  const chiSquared = usual.reduce((sumOf, { count }, at) => {
    const mean = total / exposure / scales[at]!;
    return sumOf + (count - mean) ** 2 / mean;
  }, 0);
  return Math.max(1, chiSquared / (usual.length - 1));
}

function sum<Each>(list: readonly Each[], value: (each: Each) => number): number {
  return list.reduce((total, each) => total + value(each), 0);
}
