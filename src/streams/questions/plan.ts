/**
 * A question made ready: what must be read for it, and the pure function that answers from what was
 * read. So one question, or several about one stream, are answered from one moment of the store.
 */
import type { KeyedHash } from '../../sketches/hash.ts';
import type { Summary } from '../../sketches/summary.ts';
import { SummaryView } from '../../sketches/summary-view.ts';
import { ViewersView } from '../../sketches/viewers-view.ts';
import type { CountBounds, WindowFacts } from '../answers.ts';
import { ceilTo, MINUTE_MS } from '../buckets.ts';
import type { AskedRead, BucketSummary } from '../reader.ts';
import type { StreamProfile } from '../registry.ts';
import { OTHER_VALUE } from '../settings.ts';
import { type Segment, shareKeyOf } from '../shares.ts';
import { type CoveredSpan, coverSpan, type Span, spanOf } from '../window.ts';
import { QuestionError, type StreamQuestion } from './question.ts';

/** What was read for one plan. */
export interface PlanRead {
  /** For each of the plan's reads, in their order; each in the order of the calendar. */
  readonly summaries: readonly (readonly BucketSummary[])[];
  readonly asOfMs: number;
  readonly lagging: boolean;
  readonly missing: readonly string[];
}

export interface Plan<Answer> {
  readonly reads: readonly AskedRead[];
  answer(read: PlanRead): Answer;
  /** Another plan, when what was read shows that it takes other reads; null: it does not. */
  readonly replan?: (read: PlanRead) => Plan<Answer> | null;
}

/** What a question is planned with. */
export interface Asking {
  readonly nowMs: number;
  readonly hash: KeyedHash;
  readonly profile: StreamProfile;
}

/** A window of a share, with what is known about it before anything is read. */
export interface PlannedWindow {
  readonly stream: string;
  readonly segment: Segment | null;
  /** As asked for. */
  readonly span: Span;
  readonly covered: CoveredSpan;
  readonly missing: readonly string[];
}

/** Throws WindowError, and QuestionError for a dimension that the stream does not keep. */
export function planWindow(question: StreamQuestion, asking: Asking): PlannedWindow {
  return planSpan(question, spanOf(question.window, asking.nowMs), asking);
}

export function planSpan(
  { stream, where = null }: Pick<StreamQuestion, 'stream' | 'where'>,
  span: Span,
  { nowMs, profile }: Asking,
): PlannedWindow {
  const covered = coverSpan(span, nowMs, profile.settings.retention);
  const missing = where === null ? [] : missingIn(where, covered.fromMs, profile);
  return { stream, segment: where, span, covered, missing };
}

/** The window of the same length right before. */
export function planBefore(window: PlannedWindow, asking: Asking): PlannedWindow {
  const { stream, segment, span } = window;
  const lengthMs = ceilTo(span.toMs, MINUTE_MS) - span.fromMs;
  const before = { fromMs: span.fromMs - lengthMs, toMs: span.fromMs };
  return planSpan({ stream, where: segment }, before, asking);
}

export function readOf({ stream, segment, covered }: PlannedWindow, viewers = false): AskedRead {
  return { share: shareKeyOf(stream, segment), buckets: covered.buckets, viewers };
}

export function factsOf(window: PlannedWindow, read: PlanRead): WindowFacts {
  const { stream, segment, covered, missing } = window;
  const { fromMs, toMs, widened } = covered;
  const { asOfMs, lagging } = read;
  return {
    stream,
    segment,
    fromMs,
    toMs,
    widened,
    asOfMs,
    lagging,
    missing: [...missing, ...read.missing],
  };
}

/** Throws QuestionError. */
export function checkDimension(
  dimension: string,
  parameter: string,
  { settings }: StreamProfile,
): void {
  if (settings.dimensions.some(({ name }) => name === dimension)) return;
  const message = `${parameter}: the stream does not keep the dimension ${dimension}`;
  throw new QuestionError('unknown_dimension', parameter, message);
}

/** What a window lacks because it begins before its events were put into the dimension. */
export function missingBefore(sinceMs: number | null, fromMs: number, dimension: string): string[] {
  if (sinceMs === null || sinceMs <= fromMs) return [];
  return [`dimension ${dimension} before ${new Date(sinceMs).toISOString()}`];
}

/** Throws QuestionError. */
function missingIn(
  { dimension, value }: Segment,
  fromMs: number,
  profile: StreamProfile,
): string[] {
  checkDimension(dimension, 'where', profile);
  if (!profile.keepsValue(dimension, value)) {
    return [`dimension ${dimension} value ${value}: counted under ${OTHER_VALUE}`];
  }
  return missingBefore(profile.sinceMs(dimension, value), fromMs, dimension);
}

/** Throws QuestionError. */
export function checkK(k: number, { settings }: StreamProfile): void {
  if (k <= settings.kMax) return;
  const message = `k: the largest of this stream is ${settings.kMax}`;
  throw new QuestionError('invalid_parameter', 'k', message);
}

/** Without the items that moderation hides; `weights`: what an event of each summary counts. */
export function shownView(
  summaries: readonly BucketSummary[] | undefined,
  { hash, profile }: Asking,
  weights?: readonly number[],
): SummaryView {
  const isHidden = (item: string): boolean => profile.isHidden(item);
  const options = weights === undefined ? { isHidden } : { isHidden, weights };
  return new SummaryView(summariesOf(summaries), hash, options);
}

/** With all items. */
export function wholeView(
  summaries: readonly BucketSummary[] | undefined,
  { hash }: Pick<Asking, 'hash'>,
): SummaryView {
  return new SummaryView(summariesOf(summaries), hash);
}

/** Of summaries that were read with their viewers. */
export function viewersView(
  summaries: readonly BucketSummary[] | undefined,
  { hash }: Pick<Asking, 'hash'>,
): ViewersView {
  return new ViewersView(summariesOf(summaries), hash);
}

export function boundsOf({ lower, upper }: { lower: number; upper: number }): CountBounds {
  return { count: upper, lower, upper };
}

export const NO_COUNT: CountBounds = { count: 0, lower: 0, upper: 0 };

function summariesOf(summaries: readonly BucketSummary[] = []): Summary[] {
  return summaries.map(({ summary }) => summary);
}
