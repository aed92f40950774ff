import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, type Retention } from '../../src/streams/buckets.ts';
import { openZone } from '../../src/lib/calendar.ts';
import { SERIES_POINTS_MAX } from '../../src/streams/limits.ts';
import { parseStep, seriesSpans } from '../../src/streams/series-spans.ts';
import {
  coverSpan,
  type Span,
  spanOf,
  WindowError,
  type WindowRequest,
} from '../../src/streams/window.ts';
import { RETENTION } from '../support/pipeline.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 12, 34, 56, 789);
const NOON_MS = Date.UTC(2026, 10, 30, 12);
/** Nothing is gone. */
const EVERYTHING: Retention = { minute: 400 * DAY_MS, hour: 400 * DAY_MS, day: 400 * DAY_MS };

describe('the text of a step', () => {
  test.each([
    ['1m', 'minute', MINUTE_MS],
    ['90m', 'minute', 90 * MINUTE_MS],
    ['6h', 'hour', 6 * HOUR_MS],
    ['400d', 'day', 400 * DAY_MS],
    ['1w', 'week', 7 * DAY_MS],
    ['1mo', 'month', 31 * DAY_MS],
  ])('%s is understood', (text, unit, lengthMs) => {
    expect(parseStep(text)).toEqual({ unit, lengthMs });
  });

  test.each(['', '1', '0m', '2w', '2mo', '1M', '1y', '401d', '1mo ', 'toString'])(
    '%j is refused',
    (text) => {
      expect(parseStep(text)).toBeNull();
    },
  );
});

describe('the points of a trailing window', () => {
  test('are steps of the clock, oldest first, without gaps', () => {
    expect(seriesOf(trailing(3 * HOUR_MS, NOON_MS), '1h')).toEqual(
      [9, 10, 11].map((hour) => ({
        fromMs: Date.UTC(2026, 10, 30, hour),
        toMs: Date.UTC(2026, 10, 30, hour + 1),
      })),
    );
  });

  test('the last one is partial and ends where the window ends', () => {
    expect(seriesOf(trailing(2 * HOUR_MS), '1h')).toEqual([
      { fromMs: NOON_MS - HOUR_MS, toMs: NOON_MS },
      { fromMs: NOON_MS, toMs: NOW_MS },
    ]);
  });

  test('a step that does not divide the window gives one point more', () => {
    expect(seriesOf(trailing(10 * MINUTE_MS, NOON_MS), '3m')).toHaveLength(4);
  });

  test('are as many days of the calendar as the window has, also where one has 23 hours', () => {
    const untilMs = Date.parse('2026-03-31T12:00+02:00');
    const spans = seriesOf(trailing(7 * DAY_MS, untilMs), '1d', 'Europe/Paris', EVERYTHING);
    expect(hoursOf(spans)).toEqual([24, 24, 24, 24, 23, 24, 12]);
    expect(spans[0]?.fromMs).toBe(Date.parse('2026-03-25T00:00+01:00'));
  });

  test('are weeks from Monday on, and months', () => {
    const weeks = seriesOf(trailing(28 * DAY_MS), '1w', 'Asia/Kathmandu', EVERYTHING);
    expect(weeks.map(({ fromMs }) => fromMs)).toEqual(
      ['2026-11-09', '2026-11-16', '2026-11-23', '2026-11-30'].map((date) =>
        Date.parse(`${date}T00:00+05:45`),
      ),
    );
    const months = seriesOf(trailing(365 * DAY_MS), '1mo', 'UTC', EVERYTHING);
    expect(months).toHaveLength(12);
    expect(months[0]?.fromMs).toBe(Date.UTC(2025, 11, 1));
    expect(months[2]).toEqual({ fromMs: Date.UTC(2026, 1, 1), toMs: Date.UTC(2026, 2, 1) });
  });

  test('are contiguous and hold the whole window, whatever window and step', () => {
    const steps = fc.oneof(
      fc.integer({ min: 1, max: 60 }).map((minutes) => [`${minutes}m`, minutes] as const),
      fc.integer({ min: 1, max: 48 }).map((hours) => [`${hours}h`, hours * 60] as const),
      fc.integer({ min: 1, max: 3 }).map((days) => [`${days}d`, days * 1440] as const),
    );
    const agesMs = fc.integer({ min: 0, max: HOUR_MS });
    const lengths = fc.integer({ min: 1, max: 22 * 60 }).map((minutes) => minutes * MINUTE_MS);
    fc.assert(
      fc.property(steps, agesMs, lengths, ([step, minutes], ageMs, lengthMs) => {
        const request = trailing(lengthMs, NOW_MS - ageMs);
        const stepMs = minutes * MINUTE_MS;
        const spans = seriesOf(request, step);
        expect(spans).toHaveLength(Math.ceil(lengthMs / stepMs));
        for (const { fromMs } of spans) expect(fromMs % stepMs).toBe(0);
        expectTiled(spans, { ...spanOf(request, NOW_MS), fromMs: spans[0]!.fromMs });
      }),
    );
  });
});

describe('the points of a range or period', () => {
  test('are cut where it begins and ends', () => {
    const fromMs = NOON_MS - 2 * HOUR_MS - 30 * MINUTE_MS;
    const toMs = NOON_MS + 10 * MINUTE_MS;
    expect(seriesOf({ kind: 'range', fromMs, toMs }, '1h')).toEqual([
      { fromMs, toMs: NOON_MS - 2 * HOUR_MS },
      { fromMs: NOON_MS - 2 * HOUR_MS, toMs: NOON_MS - HOUR_MS },
      { fromMs: NOON_MS - HOUR_MS, toMs: NOON_MS },
      { fromMs: NOON_MS, toMs },
    ]);
  });

  test.each([
    ['2026-03-29', 'Europe/Paris', '1h', 23, []],
    ['2026-10-25', 'Europe/Paris', '1h', 25, []],
    ['2026-03-08', 'America/New_York', '1h', 23, []],
    ['2026-11-01', 'America/New_York', '1h', 25, []],
    // The hour in which it jumps is short, the one that it shows half of twice is long.
    ['2026-10-04', 'Australia/Lord_Howe', '1h', 24, [1, 1, 0.5, 1]],
    ['2026-04-05', 'Australia/Lord_Howe', '1h', 24, [1, 1.5, 1]],
    ['2026-04-05', 'Australia/Lord_Howe', '30m', 49, []],
    ['2026-04-24', 'Africa/Cairo', '1h', 23, []],
    ['2026-10-29', 'Africa/Cairo', '1h', 25, []],
    ['2026-11-01', 'America/Havana', '1h', 25, []],
    ['2026-11-01', 'America/Havana', '6h', 4, [7, 6, 6, 6]],
    ['2026-03-29', 'Europe/Paris', '6h', 4, [5, 6, 6, 6]],
    ['2026-10-25', 'Europe/Paris', '6h', 4, [7, 6, 6, 6]],
    ['2026-03-08', 'America/New_York', '2h', 12, [2, 1, 2]],
    ['2026-11-01', 'America/New_York', '24h', 1, [25]],
    ['2026-11-29', 'Asia/Kathmandu', '1h', 24, []],
    ['2026-03', 'Europe/Paris', '1d', 31, []],
    ['2026-10', 'Africa/Cairo', '1d', 31, []],
    ['2026-04', 'Africa/Cairo', '1d', 30, []],
    ['2026', 'Etc/GMT+12', '1mo', 11, [31 * 24, 28 * 24]],
    ['2026-11', 'Pacific/Kiritimati', '1w', 6, [24, 7 * 24]],
  ])('%s in %s by %s are %s', (period, zone, step, count, firstHours) => {
    const spans = seriesOf({ kind: 'period', period, zone }, step, zone, EVERYTHING);
    expect(spans).toHaveLength(count);
    expect(hoursOf(spans).slice(0, firstHours.length)).toEqual(firstHours);
  });

  test('begin where the clock shows a multiple of the step or has skipped one', () => {
    const zones = ['Europe/Paris', 'Australia/Lord_Howe', 'Africa/Cairo', 'Asia/Kathmandu', 'UTC'];
    const steps = fc.constantFrom(15, 20, 30, 60, 120, 180, 360, 720, 1440);
    const days = fc.oneof(
      fc.integer({ min: 0, max: 330 }),
      // Around the days on which these clocks are turned in 2026.
      fc.constantFrom(87, 88, 94, 95, 113, 114, 276, 277, 297, 298, 301, 302),
    );
    fc.assert(
      fc.property(fc.constantFrom(...zones), steps, days, (name, minutes, day) => {
        const zone = openZone(name)!;
        const fromMs = Date.UTC(2026, 0, day) + 12 * HOUR_MS;
        const request = { kind: 'range', fromMs, toMs: fromMs + DAY_MS } as const;
        const spans = seriesOf(request, `${minutes}m`, name, EVERYTHING);
        expectTiled(spans, request);
        const stepMs = minutes * MINUTE_MS;
        const stepOf = (timeMs: number): number => Math.floor(zone.wallMsOf(timeMs) / stepMs);
        for (const span of spans) {
          const shown = momentsOf(span).map(stepOf);
          // A point is of one step, and the next one is of another unless the clock was set back.
          expect(new Set(shown).size).toBe(1);
          const isTurned = zone.wallMsOf(span.toMs) - zone.wallMsOf(span.toMs - 1) !== 1;
          if (!isTurned && span.toMs < request.toMs) expect(stepOf(span.toMs)).toBe(shown[0]! + 1);
        }
      }),
      { numRuns: 100, examples: [['Australia/Lord_Howe', 20, 94]] },
    );
  });

  test('of a range from the beginning of time are those that are kept', () => {
    const request = { kind: 'range', fromMs: Date.UTC(1, 0), toMs: null } as const;
    const spans = seriesOf(request, '1d');
    expect(spans).toHaveLength(401);
    expect(spans[0]?.fromMs).toBe(Date.UTC(2025, 9, 26));
    const ancient = { kind: 'range', fromMs: Date.UTC(1, 0), toMs: Date.UTC(2, 0) } as const;
    expect(seriesOf(ancient, '1m').flatMap((span) => bucketsOf(span))).toEqual([]);
  });

  test('of a period that begins just now is one, and empty', () => {
    const nowMs = Date.UTC(2027, 0, 1);
    const request = { kind: 'period', period: '2027', zone: 'UTC' } as const;
    expect(seriesSpans(request, { step: '1d', zone: 'UTC' }, nowMs, RETENTION)).toEqual([
      { fromMs: nowMs, toMs: nowMs },
    ]);
  });
});

describe('a step is refused', () => {
  test('where it makes more points than the limit, by one', () => {
    const minutesOfPast = (points: number): Span[] =>
      seriesOf(trailing(points * MINUTE_MS, NOON_MS), '1m', 'UTC', EVERYTHING);
    expect(minutesOfPast(SERIES_POINTS_MAX)).toHaveLength(SERIES_POINTS_MAX);
    const refused = { code: 'too_many_points', parameter: 'step' };
    expect(windowErrorOf(() => minutesOfPast(SERIES_POINTS_MAX + 1))).toMatchObject(refused);
    const all = { kind: 'range', fromMs: 0, toMs: null } as const;
    expect(windowErrorOf(() => seriesOf(all, '1m'))).toMatchObject(refused);
  });

  test('where its zone is none', () => {
    const refused = windowErrorOf(() => seriesOf(trailing(HOUR_MS), '1m', 'Mars/Olympus'));
    expect(refused).toMatchObject({ code: 'invalid_zone', parameter: 'tz' });
  });

  test.each([
    // The first minute that is kept is 11:34 of 29 November, the first hour 12:00 of 29 October.
    ['2026-11-29T11:36Z', '1m', 'UTC', 'taken'],
    ['2026-11-29T11:35Z', '1m', 'UTC', 'refused'],
    ['2026-11-29T11:35Z', '1h', 'UTC', 'taken'],
    ['2026-11-29T12:00Z', '90m', 'UTC', 'refused'],
    // It would begin at 11:40, which is kept, and the point before would end with 11:00 to 11:40.
    ['2026-11-29T15:20Z', '220m', 'UTC', 'refused'],
    ['2026-11-28T12:00Z', '60m', 'UTC', 'taken'],
    ['2026-11-28T12:00Z', '1h', 'Europe/Paris', 'taken'],
    ['2026-11-28T12:15Z', '1h', 'Asia/Kathmandu', 'refused'],
    ['2026-11-28T12:15Z', '1d', 'Asia/Kathmandu', 'taken'],
    ['2026-10-29T15:00Z', '1h', 'UTC', 'taken'],
    ['2026-10-29T13:00Z', '1h', 'UTC', 'refused'],
    ['2026-10-28T12:00Z', '24h', 'UTC', 'taken'],
    ['2026-10-28T12:00Z', '1d', 'UTC', 'taken'],
    ['2026-10-28T12:00Z', '1d', 'Europe/Paris', 'refused'],
    ['2026-10-28T12:00Z', '1w', 'Europe/Paris', 'taken'],
    ['2026-10-28T12:00Z', '1mo', 'Europe/Paris', 'taken'],
  ])('or not where buckets are gone: until %s, %s in %s is %s', (until, step, zone, outcome) => {
    const request = trailing(2 * parseStep(step)!.lengthMs, Date.parse(until));
    const series = (): Span[] => seriesOf(request, step, zone);
    if (outcome === 'taken') {
      expect(series().length).toBeGreaterThan(1);
    } else {
      expect(windowErrorOf(series)).toMatchObject({ code: 'step_too_fine', parameter: 'step' });
    }
  });

  test('exactly where points would overlap by more than a part of their edges', () => {
    const steps = ['1m', '15m', '45m', '90m', '1h', '2h', '6h', '1d', '3d', '1w', '1mo'];
    const zones = ['UTC', 'Europe/Paris', 'Asia/Kathmandu', 'Australia/Lord_Howe'];
    fc.assert(
      fc.property(
        fc.constantFrom(...steps),
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 60 * 24 }),
        fc.integer({ min: 1, max: 12 }),
        (step, zone, agoHours, count) => {
          const { unit, lengthMs } = parseStep(step)!;
          const untilMs = NOW_MS - agoHours * HOUR_MS;
          const request = trailing(count * lengthMs, untilMs);
          let spans: Span[];
          try {
            spans = seriesOf(request, step, zone);
          } catch (error) {
            expect(error).toMatchObject({ code: 'step_too_fine' });
            return;
          }
          const covers = spans.map((span) => coverSpan(span, NOW_MS, RETENTION));
          for (const [index, cover] of covers.entries()) {
            const next = covers[index + 1];
            if (next === undefined || cover.buckets.length === 0) continue;
            const overlapMs = cover.toMs - next.fromMs;
            const allowedMs = { minute: 0, hour: 0, day: HOUR_MS, week: DAY_MS, month: DAY_MS };
            expect(overlapMs).toBeLessThanOrEqual(allowedMs[unit]);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

function trailing(lengthMs: number, untilMs: number | null = null): WindowRequest {
  return { kind: 'trailing', lengthMs, untilMs };
}

function seriesOf(
  request: WindowRequest,
  step: string,
  zone = 'UTC',
  retention = RETENTION,
): Span[] {
  return seriesSpans(request, { step, zone }, NOW_MS, retention);
}

function bucketsOf(span: Span): readonly unknown[] {
  return coverSpan(span, NOW_MS, RETENTION).buckets;
}

function hoursOf(spans: readonly Span[]): number[] {
  return spans.map(({ fromMs, toMs }) => (toMs - fromMs) / HOUR_MS);
}

/** No clock is turned but at a multiple of them. */
function momentsOf({ fromMs, toMs }: Span): number[] {
  const count = Math.ceil((toMs - fromMs) / (5 * MINUTE_MS));
  return Array.from({ length: count }, (_, index) => fromMs + index * 5 * MINUTE_MS);
}

function expectTiled(spans: readonly Span[], { fromMs, toMs }: Span): void {
  expect(spans[0]?.fromMs).toBe(fromMs);
  for (const [index, span] of spans.entries()) {
    expect(span.toMs).toBe(spans[index + 1]?.fromMs ?? toMs);
  }
}

function windowErrorOf(run: () => unknown): WindowError {
  try {
    run();
  } catch (error) {
    if (error instanceof WindowError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
