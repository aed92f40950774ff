/**
 * When the seasons of a view begin. Views follow the clock and the calendar of a zone, turns of the
 * clock included, or a cron expression. Pure.
 */
import { CronExpressionParser } from 'cron-parser';
import { monthOf, type Zone } from '../lib/calendar.ts';
import { HOUR_MS, MINUTE_MS } from '../lib/durations.ts';

export interface SeasonStarts {
  /** The last start at the time or before it. */
  atOrBefore(timeMs: number): number;
  /** The first start after the time. */
  after(timeMs: number): number;
}

export const CALENDAR_VIEWS = ['hourly', 'daily', 'weekly', 'monthly'] as const;
export type CalendarView = (typeof CALENDAR_VIEWS)[number];

/** 1970-01-05, a Monday, as days since 1970-01-01. */
const FIRST_MONDAY = 4;
const WEEK_DAYS = 7;
/** A clock that is turned makes an hour by so much longer at most. */
const HOUR_LENGTH_MS_MAX = 4 * HOUR_MS;
/** Expressions that begin seasons more rarely are not followed further. */
const CRON_STEPS_MAX = 100;
const CRON_FIELDS = 5;

export function calendarStarts(view: CalendarView, zone: Zone): SeasonStarts {
  switch (view) {
    case 'hourly':
      return hourStarts(zone);
    case 'daily':
      return dayStarts(
        zone,
        (day) => day,
        (day) => day + 1,
      );
    case 'weekly':
      return dayStarts(zone, mondayOf, (day) => day + WEEK_DAYS);
    case 'monthly':
      return dayStarts(
        zone,
        (day) => monthOf(day).fromDay,
        (day) => monthOf(day).toDay,
      );
  }
}

/**
 * Of five fields (minute, hour, day, month, day of the week); null when it is malformed, or never
 * comes round.
 */
export function cronStarts(cron: string, tz: string): SeasonStarts | null {
  if (cron.trim().split(/\s+/).length !== CRON_FIELDS) return null;
  const openAt = (timeMs: number) =>
    CronExpressionParser.parse(cron, { tz, currentDate: new Date(timeMs) });
  try {
    openAt(0).next();
  } catch {
    return null;
  }
  return {
    atOrBefore: (timeMs) => {
      // Expressions know seconds; the moment itself is looked for too.
      const expression = openAt(Math.floor(timeMs / 1_000) * 1_000 + 1_000);
      for (let step = 0; step < CRON_STEPS_MAX; step += 1) {
        const startMs = expression.prev().getTime();
        if (startMs <= timeMs) return startMs;
      }
      throw new RangeError('a cron expression that does not come before now');
    },
    after: (timeMs) => {
      const expression = openAt(timeMs);
      for (let step = 0; step < CRON_STEPS_MAX; step += 1) {
        const startMs = expression.next().getTime();
        if (startMs > timeMs) return startMs;
      }
      throw new RangeError('a cron expression that does not come after now');
    },
  };
}

function hourStarts(zone: Zone): SeasonStarts {
  return {
    atOrBefore: (timeMs) =>
      zone.clockStarts(HOUR_MS, timeMs - HOUR_LENGTH_MS_MAX, timeMs + 1).at(-1)!,
    // A turned clock can make an hour as short as a minute, but not longer than that.
    after: (timeMs) =>
      zone
        .clockStarts(HOUR_MS, timeMs - MINUTE_MS, timeMs + HOUR_LENGTH_MS_MAX)
        .find((startMs) => startMs > timeMs)!,
  };
}

/** Seasons of whole local days, named by their first one. */
function dayStarts(
  zone: Zone,
  firstOf: (day: number) => number,
  nextOf: (firstDay: number) => number,
): SeasonStarts {
  const firstAt = (timeMs: number): number => {
    const first = firstOf(zone.dayOf(timeMs));
    // Where midnight is skipped, the day begins later than its date does.
    return zone.startOfDay(first) <= timeMs ? first : firstOf(first - 1);
  };
  return {
    atOrBefore: (timeMs) => zone.startOfDay(firstAt(timeMs)),
    after: (timeMs) => {
      let next = nextOf(firstAt(timeMs));
      // A day that an island has skipped begins and ends at once.
      while (zone.startOfDay(next) <= timeMs) next = nextOf(next);
      return zone.startOfDay(next);
    },
  };
}

function mondayOf(day: number): number {
  return FIRST_MONDAY + Math.floor((day - FIRST_MONDAY) / WEEK_DAYS) * WEEK_DAYS;
}
