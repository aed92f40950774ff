/**
 * What is unusually frequent: the statistic. Pure; the question (questions/trending.ts) reads the
 * window and the earlier windows that say what is usual.
 *
 * An item's count now is compared with its counts u_i in D earlier windows, upper bounds all of
 * them. The rhythm of the week is taken out by the rest of the stream, which is s_i times as busy
 * now as then (rest-of-stream.ts), so that u_i * s_i is what would be usual now. That is the
 * experiment of Li, Ma, 1983, "Analysis methods for results in gamma-ray astronomy": N_on counts in
 * one unit of exposure, N_off = sum of u_i in E = sum of 1 / s_i units, and how many standard
 * deviations N_on is above what N_off lets expect (equation 17, with alpha = 1 / E):
 *
 *   S^2 / 2 = N_on ln((1 + alpha) / alpha * N_on / (N_on + N_off))
 *           + N_off ln((1 + alpha) * N_off / (N_on + N_off))
 *
 * It holds for counts that scatter like Poisson's. Those that scatter more from window to window
 * have a larger variance by a factor phi, and S is divided by its root (McCullagh, Nelder, 1989,
 * "Generalized linear models", 4.5). Of few windows phi is known badly, and where it is taken for
 * too small the item trends without a reason; so it is the largest of 1, of Pearson's chi^2 of the
 * item's own windows by D - 1, and of 1 + psi * expected, where psi is the median over all items:
 * that is the variance of the negative binomial distribution with a common dispersion (Robinson,
 * Smyth, 2008, "Small-sample estimation of negative binomial dispersion").
 *
 * An item trends when its lower bound now is at least minSupport, has a score of TRENDING_SCORE_MIN
 * or more with that lower bound as N_on, and is above every u_i * s_i. So what a sketch may have
 * added to a count never makes an item trend: it is left out of N_on and part of each u_i.
 */
import { compareUtf8 } from '../lib/utf8.ts';
import { WeightedMedian } from '../lib/weighted-median.ts';
import type { Bounds } from '../sketches/candidate.ts';
import type { CountBounds } from './answers.ts';
import { TRENDING_SCORE_MIN } from './limits.ts';
import { RestOfStream } from './rest-of-stream.ts';

/** Of smaller means a scatter beyond chance cannot be seen. */
const SCATTER_MEAN_MIN = 5;
/** What is taken for it where items say little: days differ by 20 %. */
const SCATTER_PRIOR = 0.04;
const SCATTER_PRIOR_WEIGHT = 150;
/** Bounds of a share lie so many standard deviations from it. */
const SHARE_ERRORS = 3;

/** An item with its counts now and in each of the earlier windows. */
export interface ItemHistory {
  readonly item: string;
  /** False where it may not be shown: it only says how the stream has changed. */
  readonly isShown: boolean;
  readonly now: Bounds;
  readonly usual: readonly CountBounds[];
}

export interface ScoredItem {
  readonly item: string;
  readonly now: Bounds;
  /** What the earlier windows let expect now: their sum by their exposure. */
  readonly expected: number;
  /** `now.lower` by `expected`; null when nothing was expected. */
  readonly lift: number | null;
  readonly score: number;
  /** One for each earlier window: what its count is to be multiplied by. */
  readonly scales: readonly number[];
}

export interface TrendingInput {
  /** Those that could trend, and those with most events in any of the windows. */
  readonly items: readonly ItemHistory[];
  /** Of the stream, now and in each of the earlier windows. */
  readonly total: number;
  readonly usualTotals: readonly number[];
  readonly minSupport: number;
}

/** All items that trend, by score descending, then by the items' bytes. */
export function trendingItems(input: TrendingInput): ScoredItem[] {
  const { items, minSupport } = input;
  const scales = scalesOf(input);
  const fits = items.map(({ usual }, index) => fitOf(usual, scales[index]!));
  const scatter = commonScatter(fits, input.usualTotals.length);
  return items
    .map((history, index) => scored(history, scales[index]!, fits[index]!, scatter, minSupport))
    .filter((row) => row !== null)
    .sort((a, b) => b.score - a.score || compareUtf8(a.item, b.item));
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

/** For each item, what its count in each earlier window is to be multiplied by. */
function scalesOf({ items, total, usualTotals }: TrendingInput): number[][] {
  const rests = usualTotals.map((usualTotal, at) => {
    const pairs = items.map(({ now, usual }) => ({ now: now.upper, before: usual[at]!.count }));
    return new RestOfStream(pairs, { now: total, before: usualTotal });
  });
  return items.map((_, index) => rests.map((rest) => rest.without(index)));
}

/** What an item's earlier windows let expect, and how well they agree about it. */
interface Fit {
  /** In the window now. */
  readonly expected: number;
  /** Mean over the earlier windows of what the fit gives for them. */
  readonly mean: number;
  /** Pearson's chi^2 by its degrees of freedom; null where there are none. */
  readonly dispersion: number | null;
}

function fitOf(usual: readonly CountBounds[], scales: readonly number[]): Fit {
  const off = sum(usual, ({ count }) => count);
  const expected = off / exposureOf(scales);
  const mean = off / usual.length;
  if (off === 0 || usual.length < 2) return { expected, mean, dispersion: null };
  const chiSquared = usual.reduce((total, { count }, at) => {
    const fitted = expected / scales[at]!;
    return total + (count - fitted) ** 2 / fitted;
  }, 0);
  return { expected, mean, dispersion: chiSquared / (usual.length - 1) };
}

/**
 * The median over the items of psi, by which a variance is (1 + psi * mean) times the mean; each
 * weighs as well as it can be seen there.
 */
function commonScatter(fits: readonly Fit[], windows: number): number {
  const weightOf = (mean: number): number =>
    (Math.sqrt(windows - 1) * mean) / (1 + SCATTER_PRIOR * mean);
  const found = fits.map(({ mean, dispersion }) => {
    if (dispersion === null || mean < SCATTER_MEAN_MIN) return { value: 0, weight: 0 };
    const value = (dispersion / medianOfChiSquared(windows - 1) - 1) / mean;
    return { value, weight: weightOf(mean) };
  });
  const prior = { value: SCATTER_PRIOR, weight: SCATTER_PRIOR_WEIGHT };
  return Math.max(0, new WeightedMedian([...found, prior]).median());
}

/** By its degrees of freedom: Wilson, Hilferty, 1931, "The distribution of chi-square". */
function medianOfChiSquared(degrees: number): number {
  return (1 - 2 / (9 * degrees)) ** 3;
}

/** Null when the item does not trend. */
function scored(
  { item, isShown, now, usual }: ItemHistory,
  scales: readonly number[],
  { expected, dispersion }: Fit,
  scatter: number,
  minSupport: number,
): ScoredItem | null {
  if (!isShown || now.lower < minSupport) return null;
  if (usual.some(({ upper }, at) => now.lower <= upper * scales[at]!)) return null;
  const off = sum(usual, ({ upper }) => upper);
  const factor = Math.max(1, dispersion ?? 1, 1 + scatter * expected);
  const score = liMaScore(now.lower, off, exposureOf(scales)) / Math.sqrt(factor);
  if (score < TRENDING_SCORE_MIN) return null;
  return { item, now, expected, lift: expected > 0 ? now.lower / expected : null, score, scales };
}

/** How many windows like the one now the earlier ones are worth. */
function exposureOf(scales: readonly number[]): number {
  return sum(scales, (scale) => 1 / scale);
}

function sum<Each>(list: readonly Each[], value: (each: Each) => number): number {
  return list.reduce((total, each) => total + value(each), 0);
}
