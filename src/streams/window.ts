/**
 * Windows: what a query covers, and the fewest buckets that cover it. Pure; times in epoch ms, UTC.
 */
import {
  type Bucket,
  bucketEndMs,
  ceilTo,
  DAY_MS,
  floorTo,
  HOUR_MS,
  isKept,
  type Level,
  LEVEL_MS,
  MINUTE_MS,
  type Retention,
} from './buckets.ts';
import { SERIES_POINTS_MAX } from './limits.ts';

export const WINDOW_MAX_MS = 31 * DAY_MS;

const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

export interface WindowRequest {
  /** Whole minutes, at most WINDOW_MAX_MS. */
  readonly lengthMs: number;
  /** Exclusive end; null: now. */
  readonly untilMs: number | null;
}

/** Half open: from <= time < to. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A span that is covered by whole buckets, oldest first. */
export interface CoveredSpan extends Span {
  readonly buckets: readonly Bucket[];
}

/** A question that cannot be answered as it was put; `parameter` is the field at fault. */
export class WindowError extends Error {
  override readonly name = 'WindowError';
  readonly code: 'until_in_future' | 'step_too_fine' | 'too_many_points';
  readonly parameter: 'until' | 'step';

  constructor(code: WindowError['code'], parameter: WindowError['parameter'], message: string) {
    super(message);
    this.code = code;
    this.parameter = parameter;
  }
}

/** `90m`, `24h`, `31d` in ms; null when malformed, zero or too long. */
export function parseWindow(text: string): number | null {
  const match = /^([1-9]\d{0,5})([mhd])$/.exec(text);
  if (match === null) return null;
  const lengthMs = Number(match[1]) * UNIT_MS[match[2]!]!;
  return lengthMs <= WINDOW_MAX_MS ? lengthMs : null;
}

/**
 * The minutes that a window means. A trailing one ends now and begins with the minute N - 1 before
 * the current one; `until` is rounded down to its minute.
 */
export function spanOf({ lengthMs, untilMs }: WindowRequest, nowMs: number): Span {
  if (untilMs === null) {
    return { fromMs: floorTo(nowMs, MINUTE_MS) - lengthMs + MINUTE_MS, toMs: nowMs };
  }
  if (untilMs > nowMs) {
    throw new WindowError('until_in_future', 'until', 'until lies in the future');
  }
  const toMs = floorTo(untilMs, MINUTE_MS);
  return { fromMs: toMs - lengthMs, toMs };
}

/**
 * The fewest buckets that cover a span: whole hours where an hour lies inside of it, minutes at the
 * edges. An edge whose minutes are not kept any more is widened to the hour; what no level keeps
 * any more is cut off. The answer's span says both.
 */
export function coverSpan(span: Span, nowMs: number, retention: Retention): CoveredSpan {
  const endMs = ceilTo(span.toMs, MINUTE_MS);
  const firstHourMs = ceilTo(span.fromMs, HOUR_MS);
  const lastHourMs = floorTo(endMs, HOUR_MS);
  const buckets: Bucket[] = [];
  if (firstHourMs > lastHourMs) {
    buckets.push(...edge(span.fromMs, endMs, nowMs, retention));
  } else {
    buckets.push(...edge(span.fromMs, firstHourMs, nowMs, retention));
    buckets.push(...bucketsBetween('hour', firstHourMs, lastHourMs));
    buckets.push(...edge(lastHourMs, endMs, nowMs, retention));
  }
  const kept = buckets.filter((bucket) => isKept(bucket, nowMs, retention));
  if (kept.length === 0) return { fromMs: span.toMs, toMs: span.toMs, buckets: [] };
  const widenedToMs = bucketEndMs(kept.at(-1)!);
  return {
    fromMs: kept[0]!.startMs,
    toMs: widenedToMs > endMs ? Math.min(widenedToMs, Math.max(nowMs, span.toMs)) : span.toMs,
    buckets: kept,
  };
}

/**
 * The points of a series: each is a step of the calendar in UTC; the last one holds the window's
 * end, and there are as many as steps fit into the window.
 */
export function seriesSpans(
  request: WindowRequest,
  stepMs: number,
  nowMs: number,
  retention: Retention,
): Span[] {
  const { toMs } = spanOf(request, nowMs);
  const count = Math.ceil(request.lengthMs / stepMs);
  if (count > SERIES_POINTS_MAX) {
    const message = `more than ${SERIES_POINTS_MAX} points: take a longer step`;
    throw new WindowError('too_many_points', 'step', message);
  }
  const lastStartMs = floorTo(toMs - 1, stepMs);
  const firstStartMs = lastStartMs - (count - 1) * stepMs;
  const isWholeHours = stepMs % HOUR_MS === 0;
  if (!isWholeHours && !isKept({ level: 'minute', startMs: firstStartMs }, nowMs, retention)) {
    const message = 'the minutes of that time are not kept any more: take whole hours as step';
    throw new WindowError('step_too_fine', 'step', message);
  }
  return Array.from({ length: count }, (_, index) => {
    const fromMs = firstStartMs + index * stepMs;
    return { fromMs, toMs: Math.min(fromMs + stepMs, toMs) };
  });
}

/** A part of one hour: by minutes while all of them are kept, else by the whole hour. */
function edge(fromMs: number, toMs: number, nowMs: number, retention: Retention): Bucket[] {
  if (fromMs >= toMs) return [];
  if (isKept({ level: 'minute', startMs: fromMs }, nowMs, retention)) {
    return bucketsBetween('minute', fromMs, toMs);
  }
  return [{ level: 'hour', startMs: floorTo(fromMs, HOUR_MS) }];
}

function bucketsBetween(level: Level, fromMs: number, toMs: number): Bucket[] {
  const count = Math.max(0, Math.round((toMs - fromMs) / LEVEL_MS[level]));
  return Array.from({ length: count }, (_, index) => ({
    level,
    startMs: fromMs + index * LEVEL_MS[level],
  }));
}
