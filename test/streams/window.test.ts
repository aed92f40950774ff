import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Bucket,
  bucketEndMs,
  DAY_MS,
  HOUR_MS,
  isKept,
  MINUTE_MS,
} from '../../src/streams/buckets.ts';
import { SERIES_POINTS_MAX } from '../../src/streams/limits.ts';
import {
  type CoveredSpan,
  coverSpan,
  parseWindow,
  type Span,
  seriesSpans,
  spanOf,
  WINDOW_MAX_MS,
  WindowError,
} from '../../src/streams/window.ts';
import { RETENTION } from '../support/pipeline.ts';

const NOW_MS = Date.UTC(2026, 10, 30, 12, 34, 56, 789);
const NOW_HOUR_MS = Date.UTC(2026, 10, 30, 12);

describe('the text of a window', () => {
  test.each([
    ['1m', MINUTE_MS],
    ['90m', 90 * MINUTE_MS],
    ['1h', HOUR_MS],
    ['24h', DAY_MS],
    ['31d', 31 * DAY_MS],
    ['744h', 31 * DAY_MS],
    ['44640m', 31 * DAY_MS],
  ])('%s is understood', (text, lengthMs) => {
    expect(parseWindow(text)).toBe(lengthMs);
  });

  test.each([
    ...['', '0m', '00m', '01h', '-1h', '+1h', '1.5h', '1e3m', '0x10m', '1', 'h', 'm1'],
    ...['1H', '1M', '1D', '1s', '1w', '1hour', '1h1m', ' 1h', '1h ', '1 h', '1h\n', '1\u0000h'],
    // Digits of other scripts, and full-width letters.
    ...['١h', '１h', '1ｈ'],
    // One more than the longest window, and what no number holds.
    ...['32d', '745h', '44641m', '999999999m', '9'.repeat(400) + 'd'],
  ])('%j is refused', (text) => {
    expect(parseWindow(text)).toBeNull();
  });
});

describe('the span of a window', () => {
  test('without an end it ends now and begins with a whole minute', () => {
    expect(
      spanOf({ kind: 'trailing', lengthMs: MINUTE_MS, untilMs: null }, NOW_MS),
    ).toEqual({
      fromMs: Date.UTC(2026, 10, 30, 12, 34),
      toMs: NOW_MS,
    });
    expect(spanOf({ kind: 'trailing', lengthMs: HOUR_MS, untilMs: null }, NOW_MS)).toEqual(
      {
        fromMs: Date.UTC(2026, 10, 30, 11, 35),
        toMs: NOW_MS,
      },
    );
  });

  test('with an end it lies before the minute that the end is in', () => {
    const untilMs = Date.UTC(2026, 10, 30, 11, 30, 59, 999);
    const toMs = Date.UTC(2026, 10, 30, 11, 30);
    const span = { fromMs: toMs - HOUR_MS, toMs };
    expect(spanOf({ kind: 'trailing', lengthMs: HOUR_MS, untilMs }, NOW_MS)).toEqual(span);
    expect(spanOf({ kind: 'trailing', lengthMs: HOUR_MS, untilMs: toMs }, NOW_MS)).toEqual(
      span,
    );
  });

  test('an end of now is taken and one of a millisecond later is refused', () => {
    expect(
      spanOf({ kind: 'trailing', lengthMs: HOUR_MS, untilMs: NOW_MS }, NOW_MS).toMs,
    ).toBe(Date.UTC(2026, 10, 30, 12, 34));
    const refused = windowErrorOf(() =>
      spanOf({ kind: 'trailing', lengthMs: HOUR_MS, untilMs: NOW_MS + 1 }, NOW_MS),
    );
    expect(refused).toMatchObject({ code: 'until_in_future', parameter: 'until' });
  });
});

describe('the buckets that cover a span', () => {
  test('are minutes at the edges and hours in between', () => {
    const fromMs = NOW_HOUR_MS - 3 * HOUR_MS + 58 * MINUTE_MS;
    const covered = cover({ fromMs, toMs: NOW_HOUR_MS + 2 * MINUTE_MS });
    expect(namesOf(covered)).toEqual([
      ...['minute 9:58', 'minute 9:59', 'hour 10:00', 'hour 11:00'],
      ...['minute 12:00', 'minute 12:01'],
    ]);
  });

  test.each([
    { from: [9, 59], to: [11, 0], names: ['minute 9:59', 'hour 10:00'] },
    { from: [10, 0], to: [11, 0], names: ['hour 10:00'] },
    { from: [10, 0], to: [11, 1], names: ['hour 10:00', 'minute 11:00'] },
    { from: [10, 59], to: [11, 0], names: ['minute 10:59'] },
    { from: [10, 59], to: [11, 1], names: ['minute 10:59', 'minute 11:00'] },
    { from: [11, 0], to: [11, 1], names: ['minute 11:00'] },
    { from: [11, 0], to: [11, 0], names: [] },
  ])('from $from to $to are $names', ({ from, to, names }) => {
    const timeOf = ([hour = 0, minute = 0]: readonly number[]): number =>
      Date.UTC(2026, 10, 30, hour, minute);
    const span = { fromMs: timeOf(from), toMs: timeOf(to) };
    expect(namesOf(cover(span))).toEqual(names);
    if (names.length > 0) expect(cover(span)).toMatchObject(span);
  });

  test('leave out a single minute on either side of an hour', () => {
    const span = { fromMs: NOW_HOUR_MS - 2 * HOUR_MS, toMs: NOW_HOUR_MS };
    expect(namesOf(cover(span))).toEqual(['hour 10:00', 'hour 11:00']);
    const shorter = { fromMs: span.fromMs + MINUTE_MS, toMs: span.toMs - MINUTE_MS };
    const names = namesOf(cover(shorter));
    expect(names).toHaveLength(59 + 59);
    expect(names.every((name) => name.startsWith('minute'))).toBe(true);
  });

  test('hold the current minute to its end, while the span still ends now', () => {
    const covered = cover(
      spanOf({ kind: 'trailing', lengthMs: 2 * MINUTE_MS, untilMs: null }, NOW_MS),
    );
    expect(namesOf(covered)).toEqual(['minute 12:33', 'minute 12:34']);
    expect(covered.toMs).toBe(NOW_MS);
  });

  test('are widened to the hour at an edge whose minutes are gone, and the span says so', () => {
    const fromMs = NOW_HOUR_MS - 26 * HOUR_MS + 30 * MINUTE_MS;
    const toMs = NOW_HOUR_MS - 24 * HOUR_MS;
    expect(namesOf(cover({ fromMs, toMs }))).toEqual(['hour 10:00', 'hour 11:00']);
    expect(cover({ fromMs, toMs })).toMatchObject({ fromMs: NOW_HOUR_MS - 26 * HOUR_MS, toMs });
  });

  test('are widened at the end too, also when the whole span lies in one hour', () => {
    const hourMs = NOW_HOUR_MS - 40 * HOUR_MS;
    const widened = { fromMs: hourMs, toMs: hourMs + HOUR_MS };
    const inside = { fromMs: hourMs + 10 * MINUTE_MS, toMs: hourMs + 20 * MINUTE_MS };
    expect(cover(inside)).toEqual({ ...widened, buckets: [{ level: 'hour', startMs: hourMs }] });
    const atEnd = { fromMs: hourMs - HOUR_MS, toMs: hourMs + MINUTE_MS };
    expect(cover(atEnd)).toMatchObject({ fromMs: hourMs - HOUR_MS, toMs: hourMs + HOUR_MS });
  });

  test('are two hours where the span crosses an hour and its minutes are gone', () => {
    const hourMs = NOW_HOUR_MS - 40 * HOUR_MS;
    const span = { fromMs: hourMs - MINUTE_MS, toMs: hourMs + MINUTE_MS };
    expect(cover(span)).toEqual({
      fromMs: hourMs - HOUR_MS,
      toMs: hourMs + HOUR_MS,
      buckets: [
        { level: 'hour', startMs: hourMs - HOUR_MS },
        { level: 'hour', startMs: hourMs },
      ],
    });
  });

  test('an edge is widened from the first minute on that is gone', () => {
    const oldestKeptMs = Date.UTC(2026, 10, 29, 11, 34);
    const toMs = Date.UTC(2026, 10, 29, 12);
    expect(cover({ fromMs: oldestKeptMs, toMs }).fromMs).toBe(oldestKeptMs);
    expect(cover({ fromMs: oldestKeptMs - MINUTE_MS, toMs }).fromMs).toBe(
      Date.UTC(2026, 10, 29, 11),
    );
  });

  test('a widened end does not claim a time that has not come', () => {
    const nowMs = NOW_HOUR_MS + 30 * MINUTE_MS;
    const noMinutes = { ...RETENTION, minute: MINUTE_MS };
    const span = { fromMs: NOW_HOUR_MS + MINUTE_MS, toMs: NOW_HOUR_MS + 5 * MINUTE_MS };
    expect(coverSpan(span, nowMs, noMinutes)).toMatchObject({ fromMs: NOW_HOUR_MS, toMs: nowMs });
  });

  test('are cut off where no level keeps the time any more, and the span says so', () => {
    const oldestHourMs = Date.UTC(2026, 9, 29, 12);
    const fromMs = NOW_HOUR_MS - 60 * DAY_MS;
    const covered = cover({ fromMs, toMs: oldestHourMs + 2 * HOUR_MS });
    expect(covered.buckets.map(({ startMs }) => startMs)).toEqual([
      oldestHourMs,
      oldestHourMs + HOUR_MS,
    ]);
    expect(covered.fromMs).toBe(oldestHourMs);
  });

  test('are none when nothing of the span is kept', () => {
    const toMs = NOW_HOUR_MS - 40 * DAY_MS;
    expect(cover({ fromMs: toMs - HOUR_MS, toMs })).toEqual({ fromMs: toMs, toMs, buckets: [] });
  });

  test('are disjoint, ascending and exactly the span, whatever the span', () => {
    fc.assert(
      fc.property(spans(fc.integer({ min: 0, max: 24 * 60 })), (span) => {
        const covered = cover(span);
        const endMs = Math.ceil(span.toMs / MINUTE_MS) * MINUTE_MS;
        expectContiguous(covered.buckets);
        expect(covered).toMatchObject(span);
        expect(covered.buckets[0]?.startMs).toBe(span.fromMs);
        expect(bucketEndMs(covered.buckets.at(-1)!)).toBe(endMs);
        expect(minutesOutsideEdges(covered)).toBe(0);
      }),
    );
  });

  test('hold the span or what is kept of it, and nothing beyond its hours, however old', () => {
    fc.assert(
      fc.property(spans(fc.integer({ min: 0, max: 40 * 24 * 60 })), (span) => {
        const { buckets, fromMs, toMs } = cover(span);
        expectContiguous(buckets);
        for (const bucket of buckets) expect(isKept(bucket, NOW_MS, RETENTION)).toBe(true);
        if (buckets.length === 0) {
          expect(isKept(hourOf(span.toMs - 1), NOW_MS, RETENTION)).toBe(false);
          return;
        }
        expect(bucketEndMs(buckets.at(-1)!)).toBeGreaterThanOrEqual(span.toMs);
        const oldestKeptMs = NOW_MS - RETENTION.hour;
        expect(fromMs).toBe(buckets[0]!.startMs);
        expect(fromMs).toBeLessThanOrEqual(Math.max(span.fromMs, oldestKeptMs));
        expect(fromMs).toBeGreaterThanOrEqual(hourOf(span.fromMs).startMs);
        expect(toMs).toBeGreaterThanOrEqual(span.toMs);
        expect(toMs).toBeLessThanOrEqual(Math.max(bucketEndMs(hourOf(span.toMs - 1)), span.toMs));
        // Hours that are read at an edge are said to be read whole.
        if (buckets[0]!.level === 'hour') expect(fromMs % HOUR_MS).toBe(0);
      }),
    );
  });
});

describe('the points of a series', () => {
  const untilMs = Date.UTC(2026, 10, 30, 12);

  test('are steps of the calendar, oldest first, without gaps', () => {
    const spans = seriesSpans(
      { kind: 'trailing', lengthMs: 3 * HOUR_MS, untilMs },
      HOUR_MS,
      NOW_MS,
      RETENTION,
    );
    expect(spans).toEqual(
      [9, 10, 11].map((hour) => ({
        fromMs: Date.UTC(2026, 10, 30, hour),
        toMs: Date.UTC(2026, 10, 30, hour + 1),
      })),
    );
  });

  test('the last one is partial and ends where the window ends', () => {
    const request = { kind: 'trailing', lengthMs: 2 * HOUR_MS, untilMs: null } as const;
    expect(seriesSpans(request, HOUR_MS, NOW_MS, RETENTION)).toEqual([
      { fromMs: NOW_HOUR_MS - HOUR_MS, toMs: NOW_HOUR_MS },
      { fromMs: NOW_HOUR_MS, toMs: NOW_MS },
    ]);
  });

  test('are aligned to days where the step is a day, wherever the window ends', () => {
    const spans = seriesSpans(
      { kind: 'trailing', lengthMs: 7 * DAY_MS, untilMs },
      DAY_MS,
      NOW_MS,
      RETENTION,
    );
    expect(spans).toHaveLength(7);
    expect(spans[0]).toEqual({
      fromMs: Date.UTC(2026, 10, 24),
      toMs: Date.UTC(2026, 10, 25),
    });
    expect(spans.at(-1)).toEqual({ fromMs: Date.UTC(2026, 10, 30), toMs: untilMs });
  });

  test('a step that does not divide the window gives one point more', () => {
    const request = { kind: 'trailing', lengthMs: 10 * MINUTE_MS, untilMs } as const;
    expect(seriesSpans(request, 3 * MINUTE_MS, NOW_MS, RETENTION)).toHaveLength(4);
  });

  test('may be as many as the limit and not one more', () => {
    const seriesOf = (points: number): Span[] =>
      seriesSpans(
        { kind: 'trailing', lengthMs: points * MINUTE_MS, untilMs },
        MINUTE_MS,
        NOW_MS,
        {
          ...RETENTION,
          minute: 31 * DAY_MS,
        },
      );
    expect(seriesOf(SERIES_POINTS_MAX)).toHaveLength(SERIES_POINTS_MAX);
    const refused = windowErrorOf(() => seriesOf(SERIES_POINTS_MAX + 1));
    expect(refused).toMatchObject({ code: 'too_many_points', parameter: 'step' });
  });

  test('a step in minutes is refused where the first of them is gone, whole hours are not', () => {
    const seriesFrom = (firstMs: number, stepMs: number): Span[] => {
      const lengthMs = 2 * HOUR_MS;
      return seriesSpans(
        { kind: 'trailing', lengthMs, untilMs: firstMs + lengthMs },
        stepMs,
        NOW_MS,
        RETENTION,
      );
    };
    const oldestKeptMs = Date.UTC(2026, 10, 29, 11, 34);
    expect(seriesFrom(oldestKeptMs, MINUTE_MS)[0]?.fromMs).toBe(oldestKeptMs);
    const refused = windowErrorOf(() => seriesFrom(oldestKeptMs - MINUTE_MS, MINUTE_MS));
    expect(refused).toMatchObject({ code: 'step_too_fine', parameter: 'step' });
    expect(seriesFrom(oldestKeptMs - MINUTE_MS, HOUR_MS)).not.toHaveLength(0);
  });

  test('are contiguous and hold the whole window, whatever window and step', () => {
    const steps = fc.oneof(
      fc.integer({ min: 1, max: 60 }).map((minutes) => minutes * MINUTE_MS),
      fc.integer({ min: 1, max: 48 }).map((hours) => hours * HOUR_MS),
    );
    const agesMs = fc.integer({ min: 0, max: HOUR_MS });
    const lengths = fc.integer({ min: 1, max: 22 * 60 }).map((minutes) => minutes * MINUTE_MS);
    fc.assert(
      fc.property(steps, agesMs, lengths, (stepMs, ageMs, lengthMs) => {
        const request = { kind: 'trailing', lengthMs, untilMs: NOW_MS - ageMs } as const;
        const { toMs } = spanOf(request, NOW_MS);
        const spans = seriesSpans(request, stepMs, NOW_MS, RETENTION);
        expect(spans).toHaveLength(Math.ceil(lengthMs / stepMs));
        expect(spans.at(-1)?.toMs).toBe(toMs);
        for (const [index, span] of spans.entries()) {
          expect(span.fromMs % stepMs).toBe(0);
          expect(span.toMs).toBe(spans[index + 1]?.fromMs ?? toMs);
        }
      }),
    );
  });
});

function cover(span: Span): CoveredSpan {
  return coverSpan(span, NOW_MS, RETENTION);
}

function hourOf(timeMs: number): Bucket {
  return { level: 'hour', startMs: Math.floor(timeMs / HOUR_MS) * HOUR_MS };
}

/** Spans that end so many minutes ago, or a moment later inside of their last minute. */
function spans(agesMinutes: fc.Arbitrary<number>): fc.Arbitrary<Span> {
  const lengths = fc.oneof(
    fc.integer({ min: 1, max: 130 }),
    fc.integer({ min: 1, max: WINDOW_MAX_MS / MINUTE_MS }),
  );
  const seconds = fc.constantFrom(0, 0, 1, 30_000);
  return fc.tuple(agesMinutes, lengths, seconds).map(([age, length, extraMs]) => {
    const endMs = Math.floor(NOW_MS / MINUTE_MS) * MINUTE_MS - age * MINUTE_MS;
    // The property about minutes that are all kept asks for no more than a day.
    const longest = Math.max(1, 24 * 60 - age);
    const lengthMs = (age <= 24 * 60 ? Math.min(length, longest) : length) * MINUTE_MS;
    return { fromMs: endMs - lengthMs, toMs: endMs + extraMs };
  });
}

function expectContiguous(buckets: readonly Bucket[]): void {
  for (const [index, bucket] of buckets.entries()) {
    const next = buckets[index + 1];
    if (next !== undefined) expect(next.startMs).toBe(bucketEndMs(bucket));
  }
}

/** Minutes in hours that lie inside of the span as a whole: the hour would have done. */
function minutesOutsideEdges({ buckets }: CoveredSpan): number {
  const [first] = buckets;
  const endMs = bucketEndMs(buckets.at(-1)!);
  return buckets.filter(({ level, startMs }) => {
    const hour = hourOf(startMs);
    const isWhole = hour.startMs >= first!.startMs && bucketEndMs(hour) <= endMs;
    return level === 'minute' && isWhole;
  }).length;
}

function namesOf({ buckets }: CoveredSpan): string[] {
  return buckets.map(({ level, startMs }) => {
    const date = new Date(startMs);
    const minute = String(date.getUTCMinutes()).padStart(2, '0');
    return `${level} ${date.getUTCHours()}:${minute}`;
  });
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
