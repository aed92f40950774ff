import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoardRefusedError } from '../../src/boards/board-errors.ts';
import { CALENDAR_VIEWS } from '../../src/boards/season-starts.ts';
import { checkViews, SeasonCalendar, type ViewSpec } from '../../src/boards/seasons.ts';
import { DAY_MS, HOUR_MS } from '../../src/lib/durations.ts';

const ZONES = [
  ...['UTC', 'America/New_York', 'Africa/Cairo', 'Australia/Lord_Howe'],
  ...['Asia/Kathmandu', 'Europe/Paris', 'America/Havana'],
];
const CRON: ViewSpec = { name: 'finals', cron: '30 20 * * 5' };
const VIEWS: readonly ViewSpec[] = [
  ...CALENDAR_VIEWS.map((name) => ({ name, cron: null })),
  CRON,
  { name: 'quarter', cron: '*/15 * * * *' },
];

function lengthHours(view: string, zone: string, at: string): number {
  const spec = VIEWS.find(({ name }) => name === view)!;
  const season = new SeasonCalendar([spec], zone).seasonAt(view, Date.parse(at));
  return (season.endsAtMs! - season.startsAtMs) / HOUR_MS;
}

function startOf(view: string, zone: string, at: string): string {
  const spec = VIEWS.find(({ name }) => name === view)!;
  const { startsAtMs } = new SeasonCalendar([spec], zone).seasonAt(view, Date.parse(at));
  return new Date(startsAtMs).toISOString();
}

describe('a season', () => {
  test.each([
    ['daily', 'America/New_York', '2026-03-08T12:00:00Z', 23],
    ['daily', 'America/New_York', '2026-11-01T12:00:00Z', 25],
    ['daily', 'Africa/Cairo', '2026-04-24T12:00:00Z', 23],
    ['daily', 'Africa/Cairo', '2026-10-29T12:00:00Z', 25],
    ['daily', 'Australia/Lord_Howe', '2026-04-05T00:00:00Z', 24.5],
    ['daily', 'Asia/Kathmandu', '2026-04-05T00:00:00Z', 24],
    ['weekly', 'Europe/Paris', '2026-03-25T12:00:00Z', 7 * 24 - 1],
    ['weekly', 'Europe/Paris', '2026-10-24T12:00:00Z', 7 * 24 + 1],
    ['monthly', 'Europe/Paris', '2026-02-10T12:00:00Z', 28 * 24],
    ['monthly', 'America/New_York', '2026-03-10T12:00:00Z', 31 * 24 - 1],
    ['hourly', 'Europe/Paris', '2026-10-25T00:30:00Z', 1],
    ['hourly', 'Australia/Lord_Howe', '2026-10-03T15:45:00Z', 0.5],
  ])('%s in %s at %s has %d hours', (view, zone, at, hours) => {
    expect(lengthHours(view, zone, at)).toBe(hours);
  });

  test.each([
    ['weekly', 'America/New_York', '2026-07-13T03:59:59Z', '2026-07-06T04:00:00.000Z'],
    ['weekly', 'America/New_York', '2026-07-13T04:00:00Z', '2026-07-13T04:00:00.000Z'],
    ['weekly', 'America/New_York', '2026-01-12T05:00:00Z', '2026-01-12T05:00:00.000Z'],
    ['monthly', 'UTC', '2026-01-31T23:59:59Z', '2026-01-01T00:00:00.000Z'],
    ['monthly', 'Asia/Kathmandu', '2026-01-31T18:15:00Z', '2026-01-31T18:15:00.000Z'],
    ['hourly', 'Asia/Kathmandu', '2026-01-31T18:20:00Z', '2026-01-31T18:15:00.000Z'],
    ['finals', 'Europe/Paris', '2026-07-10T18:29:59Z', '2026-07-03T18:30:00.000Z'],
    ['finals', 'Europe/Paris', '2026-07-10T18:30:00Z', '2026-07-10T18:30:00.000Z'],
    ['finals', 'Europe/Paris', '2026-12-04T19:30:00.001Z', '2026-12-04T19:30:00.000Z'],
  ])('%s in %s at %s began at %s', (view, zone, at, startsAt) => {
    expect(startOf(view, zone, at)).toBe(startsAt);
  });

  test('of January is named with month 01', () => {
    const calendar = new SeasonCalendar(VIEWS, 'UTC');
    expect(calendar.seasonAt('monthly', Date.UTC(2026, 0, 9)).id).toBe('20260101T000000Z');
  });
});

test('seasons tile time, and are found again by their names', () => {
  const times = fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 11) });
  const views = fc.constantFrom(...VIEWS);
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), views, times, (zone, view, timeMs) => {
      const calendar = new SeasonCalendar([view], zone);
      const season = calendar.seasonAt(view.name, timeMs);
      expect(season.startsAtMs).toBeLessThanOrEqual(timeMs);
      expect(season.endsAtMs!).toBeGreaterThan(timeMs);
      expect(calendar.seasonWithId(view.name, season.id)).toEqual(season);
      const next = calendar.seasonAt(view.name, season.endsAtMs!);
      expect(next.startsAtMs).toBe(season.endsAtMs);
      expect(calendar.previous(next)).toEqual(season);
      expect(calendar.seasonAt(view.name, season.endsAtMs! - 1)).toEqual(season);
      expect(calendar.expiresAtMs(season, 1)).toBe(next.endsAtMs);
    }),
    { numRuns: 300 },
  );
});

test('so many ended seasons are kept, and none from before the board', () => {
  const calendar = new SeasonCalendar(VIEWS, 'UTC');
  const nowMs = Date.UTC(2026, 10, 30, 12);
  const kept = calendar.retained('daily', nowMs, 3, 0);
  expect(kept.map(({ startsAtMs }) => (nowMs - startsAtMs) / DAY_MS)).toEqual([
    ...[0.5, 1.5, 2.5, 3.5],
  ]);
  expect(calendar.retained('daily', nowMs, 3, nowMs - DAY_MS)).toHaveLength(2);
  expect(calendar.retained('all', nowMs, 3, 0)).toEqual([calendar.seasonAt('all', nowMs)]);
});

test.each(['', 'all', '20261130', '20261130T000001Z', '20261301T000000Z', '../x', 'null'])(
  '%j names no season of days',
  (id) => {
    expect(new SeasonCalendar(VIEWS, 'UTC').seasonWithId('daily', id)).toBeNull();
  },
);

describe('views are refused', () => {
  test.each<[string, readonly ViewSpec[], string, string]>([
    ['of an unknown kind', [{ name: 'yearly', cron: null }], 'UTC', 'views'],
    ['that are there twice', VIEWS.slice(0, 1).concat(VIEWS.slice(0, 1)), 'UTC', 'views'],
    ['named like all-time', [{ name: 'all', cron: '0 0 * * *' }], 'UTC', 'views'],
    ['with a cron of six fields', [{ name: 'x', cron: '0 0 0 * * *' }], 'UTC', 'views'],
    ['with a cron that means nothing', [{ name: 'x', cron: '99 0 * * *' }], 'UTC', 'views'],
    ['with a cron that never comes', [{ name: 'x', cron: '0 0 30 2 *' }], 'UTC', 'views'],
    ['with a name that is none', [{ name: 'A b', cron: '0 0 * * *' }], 'UTC', 'views'],
    ['that are too many', VIEWS.slice(0, 6), 'UTC', 'views'],
    ['in no zone', [], 'Mars/Olympus', 'tz'],
  ])('%s', (_what, views, tz, parameter) => {
    const check = (): void => checkViews(views, tz);
    expect(check).toThrow(BoardRefusedError);
    try {
      check();
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_settings', parameter });
    }
  });
});
