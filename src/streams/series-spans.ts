/** The points of a series: steps of a zone's clock or calendar. Pure; times in epoch ms. */
import { assert } from '../lib/assert.ts';
import {
  COARSEST_LEVEL,
  DAY_MS,
  finestKept,
  floorTo,
  LEVEL_MS,
  LEVELS,
  type Retention,
} from './buckets.ts';
import { monthOf, type Zone } from '../lib/calendar.ts';
import { SERIES_POINTS_MAX } from './limits.ts';
import {
  parseWindow,
  type Span,
  spanOf,
  WindowError,
  type WindowRequest,
  zoneOf,
} from './window.ts';

/** From fine to coarse; the first ones are those of LEVELS. */
const STEP_UNITS = ['minute', 'hour', 'day', 'week', 'month'] as const;
type StepUnit = (typeof STEP_UNITS)[number];

export interface Step {
  readonly unit: StepUnit;
  /** Of a month: the longest. */
  readonly lengthMs: number;
}

const LONG_STEPS: Readonly<Record<string, Step>> = {
  '1w': { unit: 'week', lengthMs: 7 * DAY_MS },
  '1mo': { unit: 'month', lengthMs: 31 * DAY_MS },
};
const UNIT_OF_LETTER: Readonly<Record<string, StepUnit>> = { m: 'minute', h: 'hour', d: 'day' };

/** 1970-01-05, a Monday, as days since 1970-01-01. */
const FIRST_MONDAY = 4;
/** Where a clock is turned a step can be longer by so much; an island has skipped a whole day. */
const TURN_MAX_MS = DAY_MS;

/** `15m`, `6h`, `1d`, `1w`, `1mo`; null when malformed or longer than a window may be. */
export function parseStep(text: string): Step | null {
  if (Object.hasOwn(LONG_STEPS, text)) return LONG_STEPS[text]!;
  const lengthMs = parseWindow(text);
  return lengthMs === null ? null : { unit: UNIT_OF_LETTER[text.at(-1)!]!, lengthMs };
}

/**
 * Minutes and hours begin where the zone's clock shows a multiple of the step, or skips one, or is
 * set back into another step; an hour that the clock shows twice is told as two steps if it holds
 * whole ones. Days, weeks and months are those of its calendar, N days counted from 1970-01-01.
 *
 * A trailing window has as many points as steps fit into it, the last of which holds its end; the
 * first and last points of any other window are cut where it begins and ends. `step` must be one
 * that `parseStep` knows. Throws WindowError.
 */
export function seriesSpans(
  request: WindowRequest,
  { step: stepText, zone: zoneName }: { readonly step: string; readonly zone: string },
  nowMs: number,
  retention: Retention,
): Span[] {
  const step = parseStep(stepText);
  assert(step !== null, `${stepText} is a step`);
  const zone = zoneOf(zoneName);
  const span = spanOf(request, nowMs);
  const starts =
    request.kind === 'trailing'
      ? trailingStarts(step, zone, span.toMs, request.lengthMs)
      : startsWithin(step, zone, keptOf(span, nowMs, retention));
  if (starts.length > SERIES_POINTS_MAX) throw tooManyPoints();
  for (const [index, startMs] of starts.entries()) {
    const isCut = index === 0 && request.kind !== 'trailing';
    const previousMs = starts[index - 1] ?? startMs;
    if (!isCut && !canBegin(step, startMs, previousMs, nowMs, retention)) throw tooFine(step);
  }
  return starts.map((fromMs, index) => ({ fromMs, toMs: starts[index + 1] ?? span.toMs }));
}

function trailingStarts(step: Step, zone: Zone, toMs: number, lengthMs: number): number[] {
  const known = stepStarts(step, zone, { fromMs: toMs - lengthMs, toMs });
  const lastMs = known.at(-1)!;
  if (STEP_UNITS.indexOf(step.unit) < STEP_UNITS.indexOf('day')) {
    return known.filter((startMs) => startMs > lastMs - lengthMs);
  }
  // By the calendar, so that seven days are seven points also when one of them has 23 hours.
  const lastDay = zone.dayOf(lastMs);
  return known.filter((startMs) => (lastDay - zone.dayOf(startMs)) * DAY_MS < lengthMs);
}

function startsWithin(step: Step, zone: Zone, span: Span): number[] {
  const known = stepStarts(step, zone, span);
  return [span.fromMs, ...known.filter((startMs) => startMs > span.fromMs)];
}

/** What is older than all that is kept can be left out; a range may begin centuries ago. */
function keptOf({ fromMs, toMs }: Span, nowMs: number, retention: Retention): Span {
  const oldestMs = floorTo(nowMs - retention[COARSEST_LEVEL], DAY_MS);
  return { fromMs: Math.min(Math.max(fromMs, oldestMs), toMs), toMs };
}

/** All starts in the span and the last ones before it, ascending. */
function stepStarts(step: Step, zone: Zone, { fromMs, toMs }: Span): number[] {
  if ((toMs - fromMs) / step.lengthMs > 2 * SERIES_POINTS_MAX) throw tooManyPoints();
  const around = { fromMs: fromMs - step.lengthMs - TURN_MAX_MS, toMs };
  const starts =
    step.unit === 'minute' || step.unit === 'hour'
      ? zone.clockStarts(step.lengthMs, around.fromMs, around.toMs)
      : calendarStarts(step, zone, around);
  return starts.filter((startMs, index) => startMs < toMs && startMs !== starts[index - 1]);
}

function calendarStarts({ unit, lengthMs }: Step, zone: Zone, { fromMs, toMs }: Span): number[] {
  const stepDays = lengthMs / DAY_MS;
  const origin = unit === 'week' ? FIRST_MONDAY : 0;
  const lastDay = zone.dayOf(toMs);
  const starts: number[] = [];
  let day = zone.dayOf(fromMs);
  day = unit === 'month' ? monthOf(day).fromDay : origin + floorTo(day - origin, stepDays);
  while (day <= lastDay) {
    starts.push(zone.startOfDay(day));
    day = unit === 'month' ? monthOf(day).toDay : day + stepDays;
  }
  return starts;
}

/**
 * True when the buckets that are kept can tell what was before from what was after. Where they
 * cannot, both points are widened and overlap: by little where the step is much longer.
 */
function canBegin(
  { unit }: Step,
  startMs: number,
  previousMs: number,
  nowMs: number,
  retention: Retention,
): boolean {
  const wanted = LEVELS.findLastIndex((level) => startMs % LEVEL_MS[level] === 0);
  const coarser = LEVELS[wanted + 1];
  if (coarser === undefined) return true;
  const edgeMs = Math.max(previousMs, floorTo(startMs, LEVEL_MS[coarser]));
  const finest = finestKept(edgeMs, nowMs, retention);
  if (finest === null) return true;
  const kept = LEVELS.indexOf(finest);
  return kept <= wanted || STEP_UNITS.indexOf(unit) > kept;
}

function tooManyPoints(): WindowError {
  const message = `more than ${SERIES_POINTS_MAX} points: take a longer step`;
  return new WindowError('too_many_points', 'step', message);
}

function tooFine({ unit }: Step): WindowError {
  const message =
    unit === 'minute'
      ? 'the minutes of that time are not kept any more: take whole hours'
      : `what is kept of that time cannot tell ${unit}s of that clock: take a longer step`;
  return new WindowError('step_too_fine', 'step', message);
}
