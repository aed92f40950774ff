import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Bucket,
  bucketEndMs,
  bucketOf,
  ceilTo,
  DAY_MS,
  floorTo,
  HOUR_MS,
  isKept,
  LEVELS,
  MINUTE_MS,
  type Retention,
} from '../../src/streams/buckets.ts';
import {
  type CoveredSpan,
  coverSpan,
  parseWindow,
  type Span,
  spanOf,
  WINDOW_MAX_MS,
  WindowError,
  type WindowRequest,
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
    ['400d', 400 * DAY_MS],
    ['9600h', 400 * DAY_MS],
    ['576000m', 400 * DAY_MS],
  ])('%s is understood', (text, lengthMs) => {
    expect(parseWindow(text)).toBe(lengthMs);
  });

  test.each([
    ...['', '0m', '00m', '01h', '-1h', '+1h', '1.5h', '1e3m', '0x10m', '1', 'h', 'm1'],
    ...['1H', '1M', '1D', '1s', '1w', '1hour', '1h1m', ' 1h', '1h ', '1 h', '1h\n', '1\u0000h'],
    // Digits of other scripts, and full-width letters.
    ...['١h', '１h', '1ｈ'],
    // One more than the longest window, and what no number holds.
    ...['401d', '9601h', '576001m', '999999999m', '9'.repeat(400) + 'd'],
  ])('%j is refused', (text) => {
    expect(parseWindow(text)).toBeNull();
  });
});

describe('the span of a trailing window', () => {
  test('without an end it ends now and begins with a whole minute', () => {
    expect(spanOf(trailing(MINUTE_MS), NOW_MS)).toEqual({
      fromMs: Date.UTC(2026, 10, 30, 12, 34),
      toMs: NOW_MS,
    });
    expect(spanOf(trailing(HOUR_MS), NOW_MS)).toEqual({
      fromMs: Date.UTC(2026, 10, 30, 11, 35),
      toMs: NOW_MS,
    });
  });

  test('with an end it lies before the minute that the end is in', () => {
    const untilMs = Date.UTC(2026, 10, 30, 11, 30, 59, 999);
    const toMs = Date.UTC(2026, 10, 30, 11, 30);
    const span = { fromMs: toMs - HOUR_MS, toMs };
    expect(spanOf(trailing(HOUR_MS, untilMs), NOW_MS)).toEqual(span);
    expect(spanOf(trailing(HOUR_MS, toMs), NOW_MS)).toEqual(span);
  });

  test('an end of now is taken and one of a millisecond later is refused', () => {
    expect(spanOf(trailing(HOUR_MS, NOW_MS), NOW_MS).toMs).toBe(Date.UTC(2026, 10, 30, 12, 34));
    const refused = windowErrorOf(() => spanOf(trailing(HOUR_MS, NOW_MS + 1), NOW_MS));
    expect(refused).toMatchObject({ code: 'until_in_future', parameter: 'until' });
  });
});

describe('the span of a range', () => {
  const fromMs = Date.UTC(2026, 2, 1, 10, 30, 15);
  const fromMinuteMs = Date.UTC(2026, 2, 1, 10, 30);

  test('is rounded down to minutes on both sides', () => {
    const toMs = Date.UTC(2026, 2, 1, 10, 31, 59);
    const span = { fromMs: fromMinuteMs, toMs: Date.UTC(2026, 2, 1, 10, 31) };
    expect(spanOf({ kind: 'range', fromMs, toMs }, NOW_MS)).toEqual(span);
  });

  test('without an end it ends now', () => {
    const request = { kind: 'range', fromMs, toMs: null } as const;
    expect(spanOf(request, NOW_MS)).toEqual({ fromMs: fromMinuteMs, toMs: NOW_MS });
  });

  test('an end of now is taken and one of a millisecond later is refused', () => {
    const spanTo = (toMs: number): Span => spanOf({ kind: 'range', fromMs, toMs }, NOW_MS);
    expect(spanTo(NOW_MS).toMs).toBe(Date.UTC(2026, 10, 30, 12, 34));
    const refused = windowErrorOf(() => spanTo(NOW_MS + 1));
    expect(refused).toMatchObject({ code: 'until_in_future', parameter: 'to' });
  });

  test.each([
    ['ends before it begins', fromMs, fromMs - HOUR_MS],
    ['ends in the minute in which it begins', fromMs, fromMs + 44_999],
    ['begins now', NOW_MS + HOUR_MS, null],
  ])('is refused when it %s', (_what, start, toMs) => {
    const request = { kind: 'range', fromMs: start, toMs } as const;
    const refused = windowErrorOf(() => spanOf(request, NOW_MS));
    expect(refused).toMatchObject({ code: 'range_reversed', parameter: 'from' });
  });
});

describe('the span of a period', () => {
  test.each([
    ['yesterday', 'UTC', '2026-11-29T00:00Z', '2026-11-30T00:00Z'],
    ['yesterday', 'Asia/Kathmandu', '2026-11-28T18:15Z', '2026-11-29T18:15Z'],
    // It is already tomorrow there, and still yesterday here.
    ['yesterday', 'Pacific/Kiritimati', '2026-11-29T10:00Z', '2026-11-30T10:00Z'],
    ['yesterday', 'Etc/GMT+12', '2026-11-29T12:00Z', '2026-11-30T12:00Z'],
    ['2026-11', 'America/New_York', '2026-11-01T04:00Z', null],
    ['2026-03-29', 'Europe/Paris', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ['2026-10-04', 'Australia/Lord_Howe', '2026-10-03T13:30Z', '2026-10-04T13:00Z'],
    ['2026-04-24', 'Africa/Cairo', '2026-04-23T22:00Z', '2026-04-24T21:00Z'],
    ['2026-10', 'Africa/Cairo', '2026-09-30T21:00Z', '2026-10-31T22:00Z'],
    ['2026-W48', 'Europe/Paris', '2026-11-22T23:00Z', '2026-11-29T23:00Z'],
    ['today', 'Europe/Paris', '2026-11-29T23:00Z', null],
    ['this_year', 'Europe/Paris', '2025-12-31T23:00Z', null],
  ])('%s in %s goes from %s to %s', (period, zone, from, to) => {
    const toMs = to === null ? NOW_MS : Date.parse(to);
    const request = { kind: 'period', period, zone } as const;
    expect(spanOf(request, NOW_MS)).toEqual({ fromMs: Date.parse(from), toMs });
  });

  test.each([
    ['someday', 'UTC', { code: 'invalid_period', parameter: 'period' }],
    ['today', 'Mars/Olympus', { code: 'invalid_zone', parameter: 'tz' }],
    ['2026-12-01', 'UTC', { code: 'until_in_future', parameter: 'period' }],
    ['2027', 'Pacific/Kiritimati', { code: 'until_in_future', parameter: 'period' }],
  ])('%s in %s is refused', (period, zone, fault) => {
    const refused = windowErrorOf(() => spanOf({ kind: 'period', period, zone }, NOW_MS));
    expect(refused).toMatchObject(fault);
  });

  test('that begins just now is in progress, and empty', () => {
    const nowMs = Date.UTC(2027, 0, 1);
    const span = spanOf({ kind: 'period', period: '2027', zone: 'UTC' }, nowMs);
    expect(span).toEqual({ fromMs: nowMs, toMs: nowMs });
    expect(coverSpan(span, nowMs, RETENTION).buckets).toEqual([]);
  });
});

describe('the buckets that cover a span', () => {
  test.each([
    [
      '30 Nov 9:58',
      '30 Nov 12:02',
      ['minute 30 9:58', 'minute 30 9:59', 'hour 30 10:00', 'hour 30 11:00'],
      ['minute 30 12:00', 'minute 30 12:01'],
    ],
    ['30 Nov 9:59', '30 Nov 11:00', ['minute 30 9:59'], ['hour 30 10:00']],
    ['30 Nov 10:00', '30 Nov 11:01', ['hour 30 10:00'], ['minute 30 11:00']],
    ['30 Nov 10:59', '30 Nov 11:01', ['minute 30 10:59'], ['minute 30 11:00']],
    ['30 Nov 11:00', '30 Nov 11:00', [], []],
    ['27 Nov 23:00', '30 Nov 1:00', ['hour 27 23:00', 'day 28', 'day 29'], ['hour 30 0:00']],
    ['27 Nov 0:00', '28 Nov 0:00', ['day 27'], []],
    ['29 Nov 22:00', '30 Nov 0:01', ['hour 29 22:00', 'hour 29 23:00'], ['minute 30 0:00']],
    ['29 Nov 0:00', '30 Nov 0:00', ['day 29'], []],
  ])('from %s to %s are %j and %j', (from, to, names, more) => {
    const span = { fromMs: timeOf(from), toMs: timeOf(to) };
    expect(namesOf(cover(span))).toEqual([...names, ...more]);
    if (names.length > 0) expect(cover(span)).toMatchObject({ ...span, widened: false });
  });

  test('leave out a single minute on either side of a day', () => {
    const span = { fromMs: timeOf('29 Nov 12:00'), toMs: timeOf('30 Nov 12:00') };
    expect(namesOf(cover(span))).toHaveLength(24);
    const longer = { fromMs: timeOf('29 Nov 11:59'), toMs: timeOf('30 Nov 12:01') };
    expect(namesOf(cover(longer))).toHaveLength(26);
    const shorter = { fromMs: timeOf('29 Nov 12:01'), toMs: timeOf('30 Nov 11:59') };
    expect(namesOf(cover(shorter))).toHaveLength(59 + 22 + 59);
  });

  test('hold the current minute to its end, while the span still ends now', () => {
    const covered = cover(spanOf(trailing(2 * MINUTE_MS), NOW_MS));
    expect(namesOf(covered)).toEqual(['minute 30 12:33', 'minute 30 12:34']);
    expect(covered).toMatchObject({ toMs: NOW_MS, widened: false });
  });

  test.each([
    // The minutes before 11:34 of 29 November and the hours before 12:00 of 29 October are gone.
    ['29 Nov 10:30', '29 Nov 12:00', '29 Nov 10:00', '29 Nov 12:00', ['hour 29 10:00']],
    ['28 Nov 22:10', '28 Nov 22:20', '28 Nov 22:00', '28 Nov 23:00', ['hour 28 22:00']],
    ['28 Nov 21:59', '28 Nov 22:01', '28 Nov 21:00', '28 Nov 23:00', ['hour 28 21:00']],
    ['29 Oct 6:00', '30 Oct 0:00', '29 Oct 0:00', '30 Oct 0:00', ['day 29']],
    ['28 Oct 6:10', '28 Oct 6:20', '28 Oct 0:00', '29 Oct 0:00', ['day 28']],
    ['27 Oct 18:15', '28 Oct 18:15', '27 Oct 0:00', '29 Oct 0:00', ['day 27', 'day 28']],
    // An hour is enough where hours are kept, although minutes were asked for.
    ['29 Oct 12:30', '29 Oct 13:00', '29 Oct 12:00', '29 Oct 13:00', ['hour 29 12:00']],
  ])('from %s to %s are widened to %s and %s', (from, to, widenedFrom, widenedTo, names) => {
    const covered = cover({ fromMs: timeOf(from), toMs: timeOf(to) });
    expect(namesOf(covered).slice(0, names.length)).toEqual(names);
    const span = { fromMs: timeOf(widenedFrom), toMs: timeOf(widenedTo) };
    expect(covered).toMatchObject({ ...span, widened: true });
  });

  test('an edge is widened from the first minute on that is gone', () => {
    const toMs = timeOf('29 Nov 12:00');
    const kept = cover({ fromMs: timeOf('29 Nov 11:34'), toMs });
    expect(kept).toMatchObject({ fromMs: timeOf('29 Nov 11:34'), widened: false });
    const gone = cover({ fromMs: timeOf('29 Nov 11:33'), toMs });
    expect(gone).toMatchObject({ fromMs: timeOf('29 Nov 11:00'), widened: true });
  });

  test('a widened end does not claim a time that has not come', () => {
    const nowMs = NOW_HOUR_MS + 30 * MINUTE_MS;
    const noMinutes = { ...RETENTION, minute: MINUTE_MS };
    const span = { fromMs: NOW_HOUR_MS + MINUTE_MS, toMs: NOW_HOUR_MS + 5 * MINUTE_MS };
    const covered = coverSpan(span, nowMs, noMinutes);
    expect(covered).toMatchObject({ fromMs: NOW_HOUR_MS, toMs: nowMs, widened: true });
  });

  test('are cut off where no level keeps the time any more, and the span says so', () => {
    const oldestMs = Date.UTC(2025, 9, 26);
    const toMs = oldestMs + 2 * DAY_MS;
    for (const fromMs of [oldestMs - 60 * DAY_MS, oldestMs - MINUTE_MS, Date.UTC(1, 0)]) {
      const covered = cover({ fromMs, toMs });
      expect(covered).toMatchObject({ fromMs: oldestMs, toMs, widened: false });
      expect(covered.buckets).toHaveLength(2);
    }
  });

  test('are none when nothing of the span is kept', () => {
    const toMs = NOW_HOUR_MS - 402 * DAY_MS;
    const covered = cover({ fromMs: toMs - HOUR_MS, toMs });
    expect(covered).toEqual({ fromMs: toMs, toMs, buckets: [], widened: false });
  });

  test('are the fewest that hold what is kept of it and least beside, whatever is kept', () => {
    fc.assert(
      fc.property(retentions, spans, (retention, span) => {
        const { buckets, fromMs, toMs, widened } = coverSpan(span, NOW_MS, retention);
        const isThere = (bucket: Bucket): boolean => isKept(bucket, NOW_MS, retention);
        const best = cheapestCover(span, isThere);
        if (best === null) {
          expect(buckets).toEqual([]);
          return;
        }
        const endMs = ceilTo(span.toMs, MINUTE_MS);
        const lastEndMs = bucketEndMs(buckets.at(-1)!);
        for (const [index, bucket] of buckets.entries()) {
          expect(isThere(bucket)).toBe(true);
          const next = buckets[index + 1]?.startMs ?? lastEndMs;
          expect(bucketEndMs(bucket)).toBe(next);
        }
        const besideMs = Math.max(0, span.fromMs - fromMs) + Math.max(0, lastEndMs - endMs);
        expect({ besideMs, count: buckets.length }).toEqual(best);
        expect(widened).toBe(besideMs > 0);
        expect(fromMs).toBe(buckets[0]!.startMs);
        const claimedMs = Math.min(lastEndMs, Math.max(NOW_MS, span.toMs));
        expect(toMs).toBe(lastEndMs > endMs ? claimedMs : span.toMs);
      }),
      { numRuns: 300 },
    );
  });

  test('of the longest windows are days, and few others', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 24 * 60 }), (ageMinutes) => {
        const untilMs = NOW_MS - ageMinutes * MINUTE_MS;
        const { buckets, widened } = cover(spanOf(trailing(WINDOW_MAX_MS, untilMs), NOW_MS));
        expect(buckets.length).toBeLessThanOrEqual(400 + 23 + 59);
        expect(buckets.filter(({ level }) => level === 'day').length).toBeGreaterThan(398);
        // Of the oldest day only the day as a whole is there.
        const lastMs = Math.floor(untilMs / MINUTE_MS) * MINUTE_MS;
        expect(widened).toBe(buckets[0]!.startMs < lastMs - WINDOW_MAX_MS);
      }),
      { examples: [[12 * 60 + 34]] },
    );
  });
});

const retentions = fc
  .tuple(
    fc.integer({ min: 1, max: 30 * 60 }),
    fc.integer({ min: 0, max: 3 * 24 * 60 }),
    fc.integer({ min: 0, max: 3 * 24 * 60 }),
  )
  .map(([minute, moreHours, moreDays]): Retention => {
    const hour = minute + moreHours;
    const day = hour + moreDays;
    return { minute: minute * MINUTE_MS, hour: hour * MINUTE_MS, day: day * MINUTE_MS };
  });

/** Spans that end so many minutes ago, or a moment later inside of their last minute. */
const spans = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 180 }), fc.integer({ min: 0, max: 7 * 24 * 60 })),
    fc.oneof(fc.integer({ min: 1, max: 130 }), fc.integer({ min: 1, max: 5 * 24 * 60 })),
    fc.constantFrom(0, 0, 1, 30_000),
  )
  .map(([age, length, extraMs]): Span => {
    const endMs = floorTo(NOW_MS, MINUTE_MS) - age * MINUTE_MS;
    return { fromMs: endMs - length * MINUTE_MS, toMs: endMs + extraMs };
  });

/**
 * By trying all: the least time beside the span, and with it the fewest buckets, that hold all of
 * the span that any bucket holds; null when none does.
 */
function cheapestCover(
  span: Span,
  isThere: (bucket: Bucket) => boolean,
): { besideMs: number; count: number } | null {
  const endMs = ceilTo(span.toMs, MINUTE_MS);
  let fromMs = span.fromMs;
  const heldBy = (timeMs: number): Bucket[] =>
    LEVELS.map((level) => bucketOf(level, timeMs)).filter(isThere);
  while (fromMs < endMs && heldBy(fromMs).length === 0) fromMs += MINUTE_MS;
  if (fromMs >= endMs) return null;
  const none = { besideMs: Number.POSITIVE_INFINITY, count: 0 };
  /** The best way on from each time at which a bucket may begin. */
  const bestFrom = new Map<number, typeof none>();
  const cheapest = (ways: readonly (typeof none)[]): typeof none =>
    ways.reduce((a, b) => ((b.besideMs - a.besideMs || b.count - a.count) < 0 ? b : a), none);
  const after = (bucket: Bucket): typeof none => {
    const bucketEnd = bucketEndMs(bucket);
    if (bucketEnd >= endMs) return { besideMs: bucketEnd - endMs, count: 1 };
    const { besideMs, count } = bestFrom.get(bucketEnd)!;
    return { besideMs, count: count + 1 };
  };
  for (let timeMs = endMs - MINUTE_MS; timeMs >= fromMs; timeMs -= MINUTE_MS) {
    const beginning = heldBy(timeMs).filter(({ startMs }) => startMs === timeMs);
    bestFrom.set(timeMs, cheapest(beginning.map(after)));
  }
  return cheapest(
    heldBy(fromMs).map((bucket) => {
      const { besideMs, count } = after(bucket);
      return { besideMs: besideMs + Math.max(0, span.fromMs - bucket.startMs), count };
    }),
  );
}

function trailing(lengthMs: number, untilMs: number | null = null): WindowRequest {
  return { kind: 'trailing', lengthMs, untilMs };
}

function cover(span: Span): CoveredSpan {
  return coverSpan(span, NOW_MS, RETENTION);
}

/** A time in 2026, such as `30 Nov 9:05`. */
function timeOf(text: string): number {
  const [day = '', month = '', clock = ''] = text.split(' ');
  return Date.parse(`${day} ${month} 2026 ${clock} UTC`);
}

function namesOf({ buckets }: CoveredSpan): string[] {
  return buckets.map(({ level, startMs }) => {
    const date = new Date(startMs);
    const minute = String(date.getUTCMinutes()).padStart(2, '0');
    const time = level === 'day' ? '' : ` ${date.getUTCHours()}:${minute}`;
    return `${level} ${date.getUTCDate()}${time}`;
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
