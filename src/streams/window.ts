/**
 * Windows: what a query covers, and the fewest buckets that cover it. Pure; times in epoch ms.
 */
import {
  type Bucket,
  bucketEndMs,
  bucketOf,
  COARSEST_LEVEL,
  ceilTo,
  DAY_MS,
  floorTo,
  HOUR_MS,
  isKept,
  LEVEL_MS,
  LEVELS,
  type Level,
  MINUTE_MS,
  type Retention,
} from './buckets.ts';
import { daysOfPeriod, openZone, type Zone } from '../lib/calendar.ts';

export const WINDOW_MAX_MS = 400 * DAY_MS;

const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** So many whole minutes up to an end. */
export interface TrailingWindow {
  readonly kind: 'trailing';
  /** At most WINDOW_MAX_MS. */
  readonly lengthMs: number;
  /** Exclusive end, rounded down to the minute; null: now. */
  readonly untilMs: number | null;
}

/** From one minute to another, both rounded down. */
export interface RangeWindow {
  readonly kind: 'range';
  readonly fromMs: number;
  /** Exclusive; null: now. */
  readonly toMs: number | null;
}

/** A day, week, month or year of a zone's calendar; one that is in progress ends now. */
export interface PeriodWindow {
  readonly kind: 'period';
  /** Like `today`, `last_week`, `2026-11`: see calendar.ts. */
  readonly period: string;
  /** IANA name. */
  readonly zone: string;
}

export type WindowRequest = TrailingWindow | RangeWindow | PeriodWindow;

/** Half open: from <= time < to. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A span that is covered by whole buckets, oldest first. */
export interface CoveredSpan extends Span {
  readonly buckets: readonly Bucket[];
  /** True when it holds more than was asked for: the finer buckets of an edge are gone. */
  readonly widened: boolean;
}

/** A question that cannot be answered as it was put; `parameter` is the field at fault. */
export class WindowError extends Error {
  override readonly name = 'WindowError';
  readonly code:
    | 'until_in_future'
    | 'range_reversed'
    | 'invalid_period'
    | 'invalid_zone'
    | 'step_too_fine'
    | 'too_many_points';
  readonly parameter: 'until' | 'from' | 'to' | 'period' | 'tz' | 'step';

  constructor(code: WindowError['code'], parameter: WindowError['parameter'], message: string) {
    super(message);
    this.code = code;
    this.parameter = parameter;
  }
}

/** `90m`, `24h`, `400d` in ms; null when malformed, zero or too long. */
export function parseWindow(text: string): number | null {
  const match = /^([1-9]\d{0,5})([mhd])$/.exec(text);
  if (match === null) return null;
  const lengthMs = Number(match[1]) * UNIT_MS[match[2]!]!;
  return lengthMs <= WINDOW_MAX_MS ? lengthMs : null;
}

/** Throws WindowError. */
export function zoneOf(name: string): Zone {
  const zone = openZone(name);
  if (zone === null) {
    const message = 'expected the IANA name of a time zone, such as Europe/Paris';
    throw new WindowError('invalid_zone', 'tz', message);
  }
  return zone;
}

/** The minutes that a window means. Throws WindowError. */
export function spanOf(request: WindowRequest, nowMs: number): Span {
  if (request.kind === 'trailing') return trailingSpan(request, nowMs);
  return request.kind === 'range' ? rangeSpan(request, nowMs) : periodSpan(request, nowMs);
}

/**
 * The fewest buckets that cover a span: whole days where a day lies inside of it, hours and then
 * minutes at the edges. An edge whose finer buckets are not kept any more is widened to the coarser
 * one; what no level keeps any more is cut off. The answer's span says both. No bucket is coarser
 * than `coarsest`, which must be kept of all of the span.
 */
export function coverSpan(
  span: Span,
  nowMs: number,
  retention: Retention,
  coarsest: Level = COARSEST_LEVEL,
): CoveredSpan {
  const endMs = ceilTo(span.toMs, MINUTE_MS);
  // Nothing before it is kept; a span may begin centuries ago.
  const oldestMs = floorTo(nowMs - retention[COARSEST_LEVEL], LEVEL_MS[COARSEST_LEVEL]);
  const fromMs = Math.max(span.fromMs, oldestMs);
  const isThere = (bucket: Bucket): boolean => isKept(bucket, nowMs, retention);
  let buckets = coverFrom(coarsest, fromMs, endMs, isThere).filter(isThere);
  if (isWidened(buckets, fromMs, endMs)) {
    // What is widened may fill a coarser bucket.
    const wideEndMs = bucketEndMs(buckets.at(-1)!);
    buckets = coverFrom(coarsest, buckets[0]!.startMs, wideEndMs, isThere);
  }
  const [first] = buckets;
  const last = buckets.at(-1);
  if (first === undefined || last === undefined) {
    return { fromMs: span.toMs, toMs: span.toMs, buckets: [], widened: false };
  }
  const lastEndMs = bucketEndMs(last);
  return {
    fromMs: first.startMs,
    toMs: lastEndMs > endMs ? Math.min(lastEndMs, Math.max(nowMs, span.toMs)) : span.toMs,
    buckets,
    widened: isWidened(buckets, span.fromMs, endMs),
  };
}

function isWidened(buckets: readonly Bucket[], fromMs: number, endMs: number): boolean {
  const [first] = buckets;
  const last = buckets.at(-1);
  if (first === undefined || last === undefined) return false;
  return first.startMs < fromMs || bucketEndMs(last) > endMs;
}

/** Ends now and begins with the minute N - 1 before the current one, or ends with a minute. */
function trailingSpan({ lengthMs, untilMs }: TrailingWindow, nowMs: number): Span {
  if (untilMs === null) {
    return { fromMs: floorTo(nowMs, MINUTE_MS) - lengthMs + MINUTE_MS, toMs: nowMs };
  }
  checkEnd(untilMs, nowMs, 'until');
  const toMs = floorTo(untilMs, MINUTE_MS);
  return { fromMs: toMs - lengthMs, toMs };
}

function rangeSpan(request: RangeWindow, nowMs: number): Span {
  if (request.toMs !== null) checkEnd(request.toMs, nowMs, 'to');
  const fromMs = floorTo(request.fromMs, MINUTE_MS);
  const toMs = request.toMs === null ? nowMs : floorTo(request.toMs, MINUTE_MS);
  if (fromMs >= toMs) {
    const end = request.toMs === null ? 'now' : 'to';
    const message = `must lie before ${end}, by at least a minute`;
    throw new WindowError('range_reversed', 'from', message);
  }
  return { fromMs, toMs };
}

function periodSpan({ period, zone: zoneName }: PeriodWindow, nowMs: number): Span {
  const zone = zoneOf(zoneName);
  const days = daysOfPeriod(period, zone.dayOf(nowMs));
  if (days === null) {
    const message =
      'expected today, yesterday, this_week, last_week, this_month, last_month, ' +
      'this_year, last_year, or a date such as 2026, 2026-11, 2026-W48 or 2026-11-30';
    throw new WindowError('invalid_period', 'period', message);
  }
  const fromMs = zone.startOfDay(days.fromDay);
  if (fromMs > nowMs) {
    throw new WindowError('until_in_future', 'period', 'lies in the future');
  }
  return { fromMs, toMs: Math.min(zone.startOfDay(days.toDay), nowMs) };
}

function checkEnd(endMs: number, nowMs: number, parameter: 'until' | 'to'): void {
  if (endMs <= nowMs) return;
  throw new WindowError('until_in_future', parameter, 'lies in the future');
}

/** Whole buckets of the level, and what is left over on either side by finer ones. */
function coverFrom(
  level: Level,
  fromMs: number,
  toMs: number,
  isThere: (bucket: Bucket) => boolean,
): Bucket[] {
  if (fromMs >= toMs) return [];
  const finer = LEVELS[LEVELS.indexOf(level) - 1];
  const firstMs = ceilTo(fromMs, LEVEL_MS[level]);
  const lastMs = floorTo(toMs, LEVEL_MS[level]);
  // Its oldest bucket is the first to go, and without it only the coarser one holds it all.
  const edge = (edgeFromMs: number, edgeToMs: number): Bucket[] => {
    if (edgeFromMs >= edgeToMs) return [];
    return finer !== undefined && isThere(bucketOf(finer, edgeFromMs))
      ? coverFrom(finer, edgeFromMs, edgeToMs, isThere)
      : [bucketOf(level, edgeFromMs)];
  };
  if (firstMs > lastMs) return edge(fromMs, toMs);
  return [
    ...edge(fromMs, firstMs),
    ...bucketsBetween(level, firstMs, lastMs),
    ...edge(lastMs, toMs),
  ];
}

function bucketsBetween(level: Level, fromMs: number, toMs: number): Bucket[] {
  const count = Math.round((toMs - fromMs) / LEVEL_MS[level]);
  return Array.from({ length: count }, (_, index) => ({
    level,
    startMs: fromMs + index * LEVEL_MS[level],
  }));
}
