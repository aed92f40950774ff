import type { CountBounds, TrendingAnswer, TrendingRow } from '../answers.ts';
import { bucketEndMs, DAY_MS } from '../buckets.ts';
import {
  BASELINE_DAYS_DEFAULT,
  BASELINE_DAYS_MIN,
  MIN_SUPPORT_DEFAULT,
  PREVIOUS_RANKS_MAX,
  TRENDING_ACTOR_ITEMS_MAX,
  TRENDING_LARGEST,
  TRENDING_SCORE_MIN,
} from '../limits.ts';
import type { BucketSummary } from '../reader.ts';
import { type ItemHistory, type ScoredItem, trendingItems } from '../trending.ts';
import { type CoveredSpan, type Span, zoneOf } from '../window.ts';
import { comparedWindow, movementSince } from './movement.ts';
import {
  type Asking,
  boundsOf,
  checkK,
  factsOf,
  type Plan,
  type PlannedWindow,
  type PlanRead,
  planBefore,
  planSpan,
  planWindow,
  readOf,
  shownView,
} from './plan.ts';
import type { TrendingQuestion } from './question.ts';
import { rankingOf } from './ranking.ts';
import { countsWithin, type WindowCounts } from './window-counts.ts';

type BaselineKind = TrendingAnswer['baseline']['kind'];

interface TrendingContext {
  readonly question: TrendingQuestion;
  readonly asking: Asking;
}

/** A window and the earlier ones that say what is usual, oldest first. */
interface Comparison {
  readonly window: PlannedWindow;
  readonly usual: readonly PlannedWindow[];
}

/** An earlier window that was read and can say what is usual. */
interface UsualWindow {
  readonly span: Span;
  readonly counts: WindowCounts;
}

/** An item with its counts in the window and in the earlier windows. */
interface ItemCounts extends ItemHistory {
  readonly now: CountBounds;
}

/**
 * Compares with windows of the same length that began at the same clock time on earlier days; or
 * with the windows right before, if it is longer than a day, or if fewer than BASELINE_DAYS_MIN
 * days have events. Throws WindowError and QuestionError.
 */
export function planTrending(question: TrendingQuestion, asking: Asking): Plan<TrendingAnswer> {
  checkK(question.k, asking.profile);
  const context = { question, asking };
  const window = planWindow(question, asking);
  const { fromMs, toMs } = wholeSpanOf(window.covered);
  if (toMs - fromMs > DAY_MS) return planComparison(context, window, 'windows');
  const byDays = planComparison(context, window, 'days');
  return {
    ...byDays,
    replan: (read) => {
      const { usual } = readComparison(context, byDays.comparison, read, 0);
      if (usual.length >= BASELINE_DAYS_MIN) return null;
      return planComparison(context, window, 'windows');
    },
  };
}

function planComparison(
  context: TrendingContext,
  window: PlannedWindow,
  kind: BaselineKind,
): Plan<TrendingAnswer> & { readonly comparison: Comparison } {
  const { question, asking } = context;
  const comparison = comparisonOf(context, window, kind);
  const before =
    question.movement === true ? comparisonOf(context, planBefore(window, asking), kind) : null;
  const windows = [comparison, ...(before === null ? [] : [before])].flatMap((each) => [
    each.window,
    ...each.usual,
  ]);
  return {
    comparison,
    reads: windows.map((each) => readOf(each, question.by === 'actors')),
    answer: (read) => answerTrending(context, kind, comparison, before, read),
  };
}

function comparisonOf(
  { question, asking }: TrendingContext,
  window: PlannedWindow,
  kind: BaselineKind,
): Comparison {
  const { baselineDays = BASELINE_DAYS_DEFAULT, zone: zoneName = 'UTC' } = question;
  const zone = zoneOf(zoneName);
  const { fromMs, toMs } = wholeSpanOf(window.covered);
  const lengthMs = toMs - fromMs;
  const usual = Array.from({ length: baselineDays }, (_, index) => {
    const steps = baselineDays - index;
    const startMs = kind === 'days' ? zone.daysBefore(fromMs, steps) : fromMs - steps * lengthMs;
    return planSpan(question, { fromMs: startMs, toMs: startMs + lengthMs }, asking);
  });
  return { window, usual };
}

function answerTrending(
  context: TrendingContext,
  kind: BaselineKind,
  comparison: Comparison,
  before: Comparison | null,
  read: PlanRead,
): TrendingAnswer {
  const { question, asking } = context;
  const { k, by = 'events', minSupport = MIN_SUPPORT_DEFAULT, zone = 'UTC' } = question;
  const { trends, usual, items, exact } = readTrends(context, comparison, read, 0);
  const rows = trends.slice(0, k).map((trend, index): TrendingRow => {
    const { now, usual: counts } = items.get(trend.item)!;
    return {
      rank: index + 1,
      item: trend.item,
      ...now,
      expected: trend.expected,
      lift: trend.lift,
      score: trend.score,
      days: usual.map(({ span }, at) => ({ ...span, ...counts[at]!, scale: trend.scales[at]! })),
    };
  });
  return {
    ...factsOf(comparison.window, read),
    by,
    ...withMovement(context, rows, before, 1 + comparison.usual.length, read),
    k,
    trendingCount: trends.length,
    total: shownView(read.summaries[0], asking).total,
    exact,
    baseline: { kind, used: usual.length, of: comparison.usual.length, zone },
    minSupport,
    threshold: TRENDING_SCORE_MIN,
  };
}

function withMovement(
  context: TrendingContext,
  rows: readonly TrendingRow[],
  before: Comparison | null,
  readIndex: number,
  read: PlanRead,
): Pick<TrendingAnswer, 'items' | 'previous'> {
  if (before === null) return { items: rows };
  const previous = comparedWindow(before.window, read);
  const { trends } = readTrends(context, before, read, readIndex);
  const events = shownView(read.summaries[readIndex], context.asking);
  const movementOf = movementSince(trends.slice(0, PREVIOUS_RANKS_MAX), events, previous);
  return { items: rows.map((row) => ({ ...row, ...movementOf(row.item) })), previous };
}

/** All that trends in a comparison whose window is read number `readIndex`. */
function readTrends(
  context: TrendingContext,
  comparison: Comparison,
  read: PlanRead,
  readIndex: number,
) {
  const { question, asking } = context;
  const { by = 'events', minSupport = MIN_SUPPORT_DEFAULT } = question;
  const { now, usual } = readComparison(context, comparison, read, readIndex);
  const candidates = candidatesOf(context, now);
  const items = new Map<string, ItemCounts>();
  let trends: readonly ScoredItem[] = [];
  // Where nothing says what is usual, nothing is unusual.
  if (usual.length > 0) {
    const counts = countsWithin(now, wholeSpanOf(comparison.window.covered), asking.hash, by);
    const take = (item: string, counted: CountBounds): void => {
      const isShown = !asking.profile.isHidden(item);
      const usualCounts = usual.map((each) => each.counts.boundsOf(item));
      items.set(item, { item, isShown, now: counted, usual: usualCounts });
    };
    for (const { item, ...counted } of candidates.rows) take(item, counted);
    // What is large anywhere, hidden or not, says how busy the stream is.
    for (const each of [counts, ...usual.map((window) => window.counts)]) {
      for (const item of each.largest(TRENDING_LARGEST)) {
        if (!items.has(item)) take(item, counts.boundsOf(item));
      }
    }
    trends = trendingItems({
      items: [...items.values()],
      total: counts.total,
      usualTotals: usual.map((window) => window.counts.total),
      minSupport,
    });
  }
  return { trends, usual, items, exact: candidates.exact };
}

/** The shown items with enough support, each with its counts. */
function candidatesOf(
  { question, asking }: TrendingContext,
  now: readonly BucketSummary[],
): { rows: readonly ({ readonly item: string } & CountBounds)[]; exact: boolean } {
  const { by = 'events', minSupport = MIN_SUPPORT_DEFAULT } = question;
  if (by === 'actors') {
    const { rows, exact } = rankingOf(now, asking, TRENDING_ACTOR_ITEMS_MAX, { by });
    const supported = rows.filter(({ lower }) => lower >= minSupport);
    return {
      rows: supported.map(({ item, count, lower, upper }) => ({ item, count, lower, upper })),
      exact,
    };
  }
  const view = shownView(now, asking);
  const rows = view.listedAbove(minSupport).map((row) => ({ item: row.item, ...boundsOf(row) }));
  return { rows, exact: view.itemsExact };
}

function readComparison(
  { question, asking }: TrendingContext,
  { usual }: Comparison,
  { summaries }: PlanRead,
  readIndex: number,
): { now: readonly BucketSummary[]; usual: readonly UsualWindow[] } {
  const { by = 'events' } = question;
  const known = usual.flatMap((window, at): UsualWindow[] => {
    const found = summaries[readIndex + 1 + at] ?? [];
    if (!isWhole(window, found)) return [];
    const { span } = window;
    return [{ span, counts: countsWithin(found, span, asking.hash, by) }];
  });
  return {
    now: summaries[readIndex] ?? [],
    // Of a time without events nobody knows whether nobody came or nothing was counted.
    usual: known.filter(({ counts }) => counts.total > 0),
  };
}

/** False where a window is not known well enough: a day says nothing about one of its hours. */
function isWhole({ span, covered, missing }: PlannedWindow, found: readonly BucketSummary[]) {
  const { fromMs, buckets } = covered;
  if (buckets.length === 0 || fromMs > span.fromMs || missing.length > 0) return false;
  const isCut = buckets.some(
    (bucket) =>
      bucket.level === 'day' && (bucket.startMs < span.fromMs || bucketEndMs(bucket) > span.toMs),
  );
  return !isCut && found.every(({ summary }) => !summary.incomplete);
}

/** The whole buckets of a window, which are what is counted. */
function wholeSpanOf({ buckets, toMs }: CoveredSpan): Span {
  const last = buckets.at(-1);
  return last === undefined
    ? { fromMs: toMs, toMs }
    : { fromMs: buckets[0]!.startMs, toMs: bucketEndMs(last) };
}
