/**
 * The seasons of a board's views. A season is a stretch of time from one start of its view to the
 * next, and is named by its start. The view `all` has one season that never ends. Pure; times in
 * epoch ms.
 */
import { assert } from '../lib/assert.ts';
import { openZone } from '../lib/calendar.ts';
import { BoardRefusedError } from './board-errors.ts';
import { VIEWS_MAX } from './limits.ts';
import { CALENDAR_VIEWS, calendarStarts, cronStarts, type SeasonStarts } from './season-starts.ts';
import { ALL_TIME } from './store-port.ts';

export interface ViewSpec {
  readonly name: string;
  /** Null: the name is one of CALENDAR_VIEWS. */
  readonly cron: string | null;
}

export interface Season {
  readonly view: string;
  /** The start in UTC, as in `20261201T050000Z`; `all` of all-time. */
  readonly id: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number | null;
}

const FOREVER: Season = { view: ALL_TIME, id: ALL_TIME, startsAtMs: 0, endsAtMs: null };
const ID = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;
const VIEW_NAME = /^[a-z][a-z0-9_-]{0,31}$/;

export class SeasonCalendar {
  /** `all` first. */
  readonly views: readonly string[];
  readonly #starts: ReadonlyMap<string, SeasonStarts>;
  /** The seasons that were asked for last: of a write there is a new one only now and then. */
  readonly #current = new Map<string, Season>();

  /** Of views and a zone that `checkViews` has accepted. */
  constructor(views: readonly ViewSpec[], zone: string) {
    this.views = [ALL_TIME, ...views.map(({ name }) => name)];
    this.#starts = new Map(views.map((view) => [view.name, startsOf(view, zone)]));
  }

  /** The one that contains the time. */
  seasonAt(view: string, timeMs: number): Season {
    if (view === ALL_TIME) return FOREVER;
    const known = this.#current.get(view);
    if (known !== undefined && known.startsAtMs <= timeMs && timeMs < known.endsAtMs!) return known;
    const starts = this.#startsOf(view);
    const season = this.#from(view, starts.atOrBefore(timeMs));
    this.#current.set(view, season);
    return season;
  }

  /** Null when no season of the view has this name. */
  seasonWithId(view: string, id: string): Season | null {
    if (view === ALL_TIME) return id === ALL_TIME ? FOREVER : null;
    const startMs = startOfId(id);
    if (startMs === null || this.#startsOf(view).atOrBefore(startMs) !== startMs) return null;
    return this.#from(view, startMs);
  }

  /** Null for all-time. */
  previous({ view, startsAtMs }: Season): Season | null {
    if (view === ALL_TIME) return null;
    return this.#from(view, this.#startsOf(view).atOrBefore(startsAtMs - 1));
  }

  /** The one at `nowMs` and `keep` ended ones before it, newest first, since the board is there. */
  retained(view: string, nowMs: number, keep: number, createdAtMs: number): Season[] {
    const seasons = [this.seasonAt(view, nowMs)];
    while (seasons.length <= keep) {
      const before = this.previous(seasons.at(-1)!);
      if (before === null || before.endsAtMs! <= createdAtMs) break;
      seasons.push(before);
    }
    return seasons;
  }

  /** When the data of a season may go: the end of the `keep`-th one after it; null: never. */
  expiresAtMs({ view, endsAtMs }: Season, keep: number): number | null {
    if (endsAtMs === null) return null;
    const starts = this.#startsOf(view);
    let endMs = endsAtMs;
    for (let step = 0; step < keep; step += 1) endMs = starts.after(endMs);
    return endMs;
  }

  #from(view: string, startsAtMs: number): Season {
    const endsAtMs = this.#startsOf(view).after(startsAtMs);
    return { view, id: idOf(startsAtMs), startsAtMs, endsAtMs };
  }

  #startsOf(view: string): SeasonStarts {
    const starts = this.#starts.get(view);
    assert(starts !== undefined, 'the view is one of the board');
    return starts;
  }
}

/** Throws BoardRefusedError `invalid_settings`. */
export function checkViews(views: readonly ViewSpec[], tz: string): void {
  if (openZone(tz) === null) refuse('tz', `${JSON.stringify(tz)} is no IANA time zone`);
  if (views.length > VIEWS_MAX) refuse('views', `at most ${VIEWS_MAX} views beside all-time`);
  const names = new Set<string>([ALL_TIME]);
  for (const { name, cron } of views) {
    if (names.has(name)) refuse('views', `there is a view ${JSON.stringify(name)} already`);
    names.add(name);
    const isNamed = CALENDAR_VIEWS.some((view) => view === name);
    if (cron === null && !isNamed) {
      refuse('views', `${JSON.stringify(name)} is none of ${CALENDAR_VIEWS.join(', ')}`);
    }
    if (cron === null) continue;
    if (isNamed || !VIEW_NAME.test(name)) {
      refuse('views', 'a view by cron needs a name of its own: a-z, 0-9, _ and -, at most 32');
    }
    if (cronStarts(cron, tz) === null) {
      refuse('views', `${JSON.stringify(cron)} is no cron expression of five fields`);
    }
  }
}

function refuse(parameter: string, message: string): never {
  throw new BoardRefusedError('invalid_settings', message, { parameter });
}

function startsOf({ name, cron }: ViewSpec, tz: string): SeasonStarts {
  const zone = openZone(tz);
  const view = CALENDAR_VIEWS.find((known) => known === name);
  assert(zone !== null && (cron !== null || view !== undefined), 'views were checked');
  const starts = cron === null ? calendarStarts(view!, zone) : cronStarts(cron, tz);
  assert(starts !== null, 'cron expressions were checked');
  return starts;
}

function idOf(startMs: number): string {
  return new Date(startMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

function startOfId(id: string): number | null {
  const match = ID.exec(id);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number);
  const startMs = Date.UTC(year!, month! - 1, day, hour, minute, second);
  return idOf(startMs) === id ? startMs : null;
}
