/**
 * Calendars of time zones: what the clock on the wall shows, and the days, weeks, months and years
 * by it. Instants are epoch ms. A wall time is what a clock shows, as the epoch ms at which a clock
 * in UTC shows the same.
 */
import { DateTime, FixedOffsetZone, IANAZone, type Zone as LuxonZone } from 'luxon';
import { DAY_MS, HOUR_MS } from './durations.ts';

/** A time in which a zone's clock is not turned. */
export interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  /** Wall time minus instant. */
  readonly offsetMs: number;
}

/** What begins and ends on local midnights: from <= day < to, as days since 1970-01-01. */
export interface Days {
  readonly fromDay: number;
  readonly toDay: number;
}

/** What a period is named by, and how long it is. Weeks are those of ISO 8601, from Monday on. */
const NAMED_PERIODS = {
  today: ['day', 0],
  yesterday: ['day', -1],
  this_week: ['week', 0],
  last_week: ['week', -1],
  this_month: ['month', 0],
  last_month: ['month', -1],
  this_year: ['year', 0],
  last_year: ['year', -1],
} as const;
const DATED_PERIODS = [
  ['year', /^\d{4}$/],
  ['month', /^\d{4}-\d{2}$/],
  ['week', /^\d{4}-W\d{2}$/],
  ['day', /^\d{4}-\d{2}-\d{2}$/],
] as const;

/** Newer engines take offsets as zones too; names are what all of them know. */
const ZONE_NAME = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
/** No offset from UTC is larger, and no zone's clock is turned twice in twice this time. */
const OFFSET_MAX_MS = 36 * HOUR_MS;

/** The clock of a zone. */
export class Zone {
  readonly #zone: LuxonZone;

  constructor(zone: LuxonZone) {
    this.#zone = zone;
  }

  wallMsOf(timeMs: number): number {
    return timeMs + this.#offsetMs(timeMs);
  }

  /** The local day of an instant, as days since 1970-01-01. */
  dayOf(timeMs: number): number {
    return Math.floor(this.wallMsOf(timeMs) / DAY_MS);
  }

  /** When the local day begins: not at midnight where the clock is turned over it. */
  startOfDay(day: number): number {
    return this.instantOf(day * DAY_MS);
  }

  /** The first instant at which the clock shows this wall time or, where that is skipped, more. */
  instantOf(wallMs: number): number {
    const beforeMs = wallMs - OFFSET_MAX_MS;
    const afterMs = wallMs + OFFSET_MAX_MS;
    const offsetMs = this.#offsetMs(beforeMs);
    const timeMs = wallMs - offsetMs;
    const nextOffsetMs = this.#offsetMs(afterMs);
    if (nextOffsetMs === offsetMs) return timeMs;
    const turnMs = this.#turnBetween(beforeMs, afterMs);
    return timeMs < turnMs ? timeMs : Math.max(turnMs, wallMs - nextOffsetMs);
  }

  /**
   * The instant at which the clock showed the same, so many local days before. A window is moved
   * by moving its start: where the clock was turned, its end would move by another length.
   */
  daysBefore(timeMs: number, days: number): number {
    return this.instantOf(this.wallMsOf(timeMs) - days * DAY_MS);
  }

  /** Cuts a time where the clock is turned; at least one stretch, in order, without gaps. */
  stretches(fromMs: number, toMs: number): Stretch[] {
    const stretches: Stretch[] = [];
    let startMs = fromMs;
    let offsetMs = this.#offsetMs(fromMs);
    for (let atMs = fromMs; atMs < toMs; atMs += OFFSET_MAX_MS) {
      const nextMs = Math.min(atMs + OFFSET_MAX_MS, toMs - 1);
      const nextOffsetMs = this.#offsetMs(nextMs);
      if (nextOffsetMs === offsetMs) continue;
      const turnMs = this.#turnBetween(atMs, nextMs);
      stretches.push({ fromMs: startMs, toMs: turnMs, offsetMs });
      startMs = turnMs;
      offsetMs = nextOffsetMs;
    }
    return [...stretches, { fromMs: startMs, toMs, offsetMs }];
  }

  /**
   * Where, in a time, steps of that length begin: the clock shows a multiple of it, or skips one,
   * or is set back into another step or to the beginning of the same one.
   */
  clockStarts(lengthMs: number, fromMs: number, toMs: number): number[] {
    return this.stretches(fromMs, toMs).flatMap((stretch, index, all) => {
      const wallMs = stretch.fromMs + stretch.offsetMs;
      const before = all[index - 1];
      const starts: number[] = [];
      if (before !== undefined) {
        const shownMs = stretch.fromMs - 1 + before.offsetMs;
        const isOther = Math.floor(wallMs / lengthMs) !== Math.floor(shownMs / lengthMs);
        const setBackMs = before.offsetMs - stretch.offsetMs;
        if (isOther || (wallMs % lengthMs === 0 && setBackMs >= lengthMs)) {
          starts.push(stretch.fromMs);
        }
      }
      const firstMs = (Math.floor(wallMs / lengthMs) + 1) * lengthMs - stretch.offsetMs;
      for (let atMs = firstMs; atMs < stretch.toMs; atMs += lengthMs) starts.push(atMs);
      return starts;
    });
  }

  /** The first instant with the later offset, where the two differ. */
  #turnBetween(fromMs: number, toMs: number): number {
    const offsetMs = this.#offsetMs(fromMs);
    let before = fromMs;
    let after = toMs;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#offsetMs(middle) === offsetMs) before = middle;
      else after = middle;
    }
    return after;
  }

  #offsetMs(timeMs: number): number {
    return Math.round(this.#zone.offset(timeMs) * 60_000);
  }
}

const UTC = new Zone(FixedOffsetZone.utcInstance);

/** The zone of an IANA name in any case; null when there is none. */
export function openZone(name: string): Zone | null {
  // The default, of nearly all questions; a look at any other takes most of a millisecond.
  if (name === 'UTC') return UTC;
  if (!ZONE_NAME.test(name) || !IANAZone.isValidZone(name)) return null;
  // Its one spelling: zones are remembered by name, and each has many in other cases.
  const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions();
  if (timeZone === 'UTC') return UTC;
  return new Zone(IANAZone.create(timeZone));
}

/**
 * The days of `today`, `yesterday`, `this_` or `last_` `week`, `month` or `year`, and of `2026`,
 * `2026-11`, `2026-W48`, `2026-11-30`; null when the text is none of these.
 */
export function daysOfPeriod(text: string, today: number): Days | null {
  if (Object.hasOwn(NAMED_PERIODS, text)) {
    const [unit, steps] = NAMED_PERIODS[text as keyof typeof NAMED_PERIODS];
    return daysFrom(
      dateOf(today)
        .startOf(unit)
        .plus({ [unit]: steps }),
      unit,
    );
  }
  const unit = DATED_PERIODS.find(([, pattern]) => pattern.test(text))?.[0];
  if (unit === undefined) return null;
  const date = DateTime.fromISO(text, { zone: 'utc' });
  return date.isValid ? daysFrom(date, unit) : null;
}

/** The first day of the month that the day lies in, and of the next one. */
export function monthOf(day: number): Days {
  return daysFrom(dateOf(day).startOf('month'), 'month');
}

function daysFrom(first: DateTime, unit: 'day' | 'week' | 'month' | 'year'): Days {
  return { fromDay: dayOf(first), toDay: dayOf(first.plus({ [unit]: 1 })) };
}

function dateOf(day: number): DateTime {
  return DateTime.fromMillis(day * DAY_MS, { zone: 'utc' });
}

function dayOf(date: DateTime): number {
  return date.toMillis() / DAY_MS;
}
