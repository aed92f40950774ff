/** From the rooms' answers (times in ms) to the API's JSON (ISO 8601, marks only where true). */
import type { z } from 'zod';
import { assert } from '../lib/assert.ts';
import type {
  ComparedWindow,
  CountBounds,
  DistinctAnswer,
  DistinctBounds,
  DistinctByAnswer,
  Explain,
  ItemCount,
  ItemDistinctAnswer,
  ItemsAnswer,
  ModerationQueueAnswer,
  SeriesAnswer,
  SeriesPoint,
  SetAnswer,
  SpanFacts,
  TopAnswer,
  TopRow,
  TrendingAnswer,
  WindowFacts,
} from '../streams/answers.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../streams/buckets.ts';
import type { QuestionAnswer } from '../streams/questions/question.ts';
import type { Segment } from '../streams/shares.ts';
import type {
  distinctAnswer,
  distinctByAnswer,
  itemAnswer,
  itemDistinctAnswer,
  itemsAnswer,
  queryAnswer,
  queueAnswer,
  seriesAnswer,
  setAnswer,
  topAnswer,
  trendingAnswer,
} from './answer-schemas.ts';

const MS_PER_SECOND = 1000;
const ROUNDING = 1000;
/** Steps that are of the same length everywhere; days are so only in UTC. */
const STEP_UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS };
const OVERLAP =
  'An actor with several values is in several parts, but once in the union; an actor whose events ' +
  'do not name the dimension is in the union only. Estimates differ by their errors besides.';

export function presentTop(answer: TopAnswer): z.input<typeof topAnswer> {
  const { by, items, k, offset, certainRanks, total, exact, errorBound, maxUnlisted } = answer;
  const { halfLifeMs, standardError, saturated } = answer;
  return {
    ...presentWindow(answer),
    by,
    total,
    exact,
    k,
    offset,
    returned: items.length,
    certainRanks,
    errorBound,
    maxUnlisted,
    ...mark('saturated', saturated),
    ...(halfLifeMs === null ? {} : { halfLifeSeconds: halfLifeMs / MS_PER_SECOND }),
    ...(standardError === undefined ? {} : { standardError }),
    ...presentPrevious(answer),
    items: items.map(presentTopRow),
  };
}

export function presentTrending(answer: TrendingAnswer): z.input<typeof trendingAnswer> {
  const { by, items, k, trendingCount, total, exact, baseline, minSupport, threshold } = answer;
  const { kind, used, of, zone } = baseline;
  return {
    ...presentWindow(answer),
    by,
    total,
    exact,
    k,
    returned: items.length,
    trendingCount,
    baseline: { kind, used, of, tz: zone },
    minSupport,
    threshold,
    ...presentPrevious(answer),
    items: items.map(({ rank, item, expected, lift, score, days, ...row }) => ({
      rank,
      item,
      ...presentBounds(row),
      expected: rounded(expected),
      lift: lift === null ? null : rounded(lift),
      score: rounded(score),
      days: days.map(({ fromMs, toMs, scale, ...day }) => ({
        from: isoTime(fromMs),
        to: isoTime(toMs),
        count: rounded(day.count),
        lower: rounded(day.lower, Math.floor),
        upper: rounded(day.upper, Math.ceil),
        scale: rounded(scale),
      })),
      ...presentMovement(row),
    })),
  };
}

export function presentDistinct(answer: DistinctAnswer): z.input<typeof distinctAnswer> {
  const { total, withoutActor } = answer;
  return { ...presentWindow(answer), ...presentActors(answer), total, withoutActor };
}

export function presentDistinctBy(answer: DistinctByAnswer): z.input<typeof distinctByAnswer> {
  const { dimension, union, parts, sumOfParts, total, withoutActor, without } = answer;
  return {
    ...presentWindow(answer),
    by: dimension,
    union: presentActors(union),
    parts: parts.map((part) => ({
      value: part.value,
      ...presentActors(part),
      total: part.total,
    })),
    sumOfParts,
    reason: OVERLAP,
    total,
    withoutActor,
    withoutDimension: without,
  };
}

export function presentItemDistinct(
  answer: ItemDistinctAnswer,
): z.input<typeof itemDistinctAnswer> {
  const { item, events, blocked } = answer;
  return {
    ...presentWindow(answer),
    item,
    ...presentActors(answer),
    events: presentBounds(events),
    ...mark('blocked', blocked),
  };
}

export function presentSet(answer: SetAnswer): z.input<typeof setAnswer> {
  const { op, segment, streams, estimate, lower, upper, standardError, exact, conclusive } = answer;
  return {
    op,
    ...presentWhere(segment),
    ...presentSpan(answer),
    streams: streams.map(({ stream, fromMs, toMs, total, ...actors }) => ({
      stream,
      from: isoTime(fromMs),
      to: isoTime(toMs),
      ...presentActors(actors),
      total,
    })),
    estimate,
    lower,
    upper,
    standardError,
    exact,
    conclusive,
  };
}

/** Of a question for one item. */
export function presentItem(answer: ItemsAnswer): z.input<typeof itemAnswer> {
  const [item] = answer.items;
  assert(item !== undefined, 'a question for one item has an answer for one');
  return { ...presentWindow(answer), ...presentItemCount(item), ...presentItemsFacts(answer) };
}

export function presentItems(answer: ItemsAnswer): z.input<typeof itemsAnswer> {
  return {
    ...presentWindow(answer),
    ...presentItemsFacts(answer),
    items: answer.items.map(presentItemCount),
  };
}

export function presentSeries(answer: SeriesAnswer): z.input<typeof seriesAnswer> {
  const { item, blocked = false, step, zone, points } = answer;
  const stepSeconds = stepSecondsOf(step, zone);
  return {
    ...presentWindow(answer),
    ...(item === undefined ? {} : { item }),
    ...mark('blocked', blocked),
    step,
    ...(stepSeconds === null ? {} : { stepSeconds }),
    tz: zone,
    points: points.map(presentPoint),
  };
}

export function presentQueue(answer: ModerationQueueAnswer): z.input<typeof queueAnswer> {
  const { k, items } = answer;
  return {
    ...presentWindow(answer),
    k,
    returned: items.length,
    items: items.map(({ item, ...row }) => ({ item, ...presentBounds(row) })),
  };
}

export function presentResults(results: readonly QuestionAnswer[]): z.input<typeof queryAnswer> {
  return { results: results.map(presentResult) };
}

function presentResult(result: QuestionAnswer): z.input<typeof queryAnswer>['results'][number] {
  switch (result.type) {
    case 'top':
      return { type: 'top', answer: presentTop(result.answer) };
    case 'trending':
      return { type: 'trending', answer: presentTrending(result.answer) };
    case 'distinct':
      return { type: 'distinct', answer: presentDistinct(result.answer) };
    case 'distinct_by':
      return { type: 'distinct', answer: presentDistinctBy(result.answer) };
    case 'item_distinct':
      return { type: 'distinct', answer: presentItemDistinct(result.answer) };
    case 'items':
      return { type: 'items', answer: presentItems(result.answer) };
    case 'series':
      return { type: 'series', answer: presentSeries(result.answer) };
  }
}

function presentWindow(facts: WindowFacts) {
  return { stream: facts.stream, ...presentWhere(facts.segment), ...presentSpan(facts) };
}

function presentWhere(segment: Segment | null): { where?: string } {
  return segment === null ? {} : { where: `${segment.dimension}:${segment.value}` };
}

function presentSpan(facts: SpanFacts) {
  return {
    from: isoTime(facts.fromMs),
    to: isoTime(facts.toMs),
    ...mark('widened', facts.widened),
    asOf: isoTime(facts.asOfMs),
    ...mark('lagging', facts.lagging),
    ...presentMissing(facts.missing),
    ...(facts.explain === undefined ? {} : { explain: presentExplain(facts.explain) }),
  };
}

export function presentMissing(missing: readonly string[]): { partial?: true; missing?: string[] } {
  return missing.length === 0 ? {} : { partial: true, missing: [...missing] };
}

function presentExplain({ summaries, summaryCount, summaryBytes, spent }: Explain) {
  const { indexMs, fetchMs, decodeMs, answerMs } = spent;
  return {
    summaries: summaries.map(({ partition, stream, segment, level, startMs, source, ...what }) => ({
      partition,
      stream,
      ...presentWhere(segment),
      level,
      start: isoTime(startMs),
      source,
      bytes: what.bytes,
      itemsExact: what.itemsExact,
      actorsExact: what.actorsExact,
      cut: what.cut,
      ageSeconds: what.ageMs / MS_PER_SECOND,
    })),
    summaryCount,
    summaryBytes,
    spentMs: {
      index: rounded(indexMs),
      fetch: rounded(fetchMs),
      decode: rounded(decodeMs),
      answer: rounded(answerMs),
    },
  };
}

function presentTopRow(row: TopRow) {
  const { rank, item, events, score, scoreLower } = row;
  return {
    rank,
    item,
    ...presentBounds(row),
    ...(events === undefined ? {} : { events }),
    ...(score === undefined ? {} : { score }),
    ...(scoreLower === undefined ? {} : { scoreLower }),
    ...presentMovement(row),
  };
}

function presentMovement({ previousRank, isNew }: Pick<TopRow, 'previousRank' | 'isNew'>) {
  return {
    ...(previousRank === undefined ? {} : { previousRank }),
    ...(isNew === undefined ? {} : { isNew }),
  };
}

function presentPrevious({ previous }: { readonly previous?: ComparedWindow }) {
  if (previous === undefined) return {};
  const { fromMs, toMs, complete } = previous;
  return { previous: { from: isoTime(fromMs), to: isoTime(toMs), complete } };
}

function presentBounds({ count, lower, upper }: CountBounds) {
  return { count, lower, upper };
}

function presentActors({ estimate, lower, upper, standardError, exact }: DistinctBounds) {
  return { estimate, lower, upper, standardError, exact };
}

function presentItemsFacts({ total, exact, errorBound, saturated }: ItemsAnswer) {
  return { total, exact, errorBound, ...mark('saturated', saturated) };
}

function presentItemCount({ item, belowNoiseFloor, blocked, ...row }: ItemCount) {
  return {
    item,
    ...presentBounds(row),
    ...mark('belowNoiseFloor', belowNoiseFloor),
    ...mark('blocked', blocked),
  };
}

function presentPoint({ fromMs, toMs, exact, distinct, ...row }: SeriesPoint) {
  return {
    from: isoTime(fromMs),
    to: isoTime(toMs),
    ...presentBounds(row),
    exact,
    ...(distinct === undefined ? {} : { distinct: presentActors(distinct) }),
  };
}

function stepSecondsOf(step: string, zone: string): number | null {
  const [, digits = '', unit = ''] = /^(\d+)([a-z]+)$/.exec(step) ?? [];
  const isUtcDay = unit === 'd' && zone.toUpperCase() === 'UTC';
  const unitMs = isUtcDay ? DAY_MS : STEP_UNIT_MS[unit];
  return unitMs === undefined ? null : (Number(digits) * unitMs) / MS_PER_SECOND;
}

/** To three digits after the point; bounds outwards, so that they go on to hold. */
function rounded(value: number, round: (value: number) => number = Math.round): number {
  return round(value * ROUNDING) / ROUNDING;
}

function mark<Name extends string>(name: Name, holds: boolean): { [Mark in Name]?: true } {
  return holds ? ({ [name]: true } as { [Mark in Name]?: true }) : {};
}

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
