import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { daysOfPeriod, openZone, type Zone } from '../../src/lib/calendar.ts';

const ZONES = [
  ...['UTC', 'Africa/Cairo', 'America/New_York', 'Europe/Paris', 'Australia/Lord_Howe'],
  ...['Asia/Kathmandu', 'Pacific/Kiritimati', 'Etc/GMT+12', 'America/Havana', 'Asia/Beirut'],
];
const MONDAY = dayNumber('2026-11-30');

describe('a zone', () => {
  test.each(ZONES)('%s is known by its name', (name) => {
    expect(openZone(name)).not.toBeNull();
  });

  test.each([
    ...[
      '',
      ' ',
      'Mars/Olympus',
      'Europe/Paris ',
      'Europe',
      '+02:00',
      '-12',
      '5',
      'UTC+1',
      '../UTC',
    ],
    ...['Europe/Paris\n', 'Europe/Pаris', 'x'.repeat(65), 'constructor', '__proto__'],
  ])('%j is none', (name) => {
    expect(openZone(name)).toBeNull();
  });

  test('has the same clock in any spelling', () => {
    const timeMs = Date.UTC(2026, 6, 1);
    expect(openZone('eUROPE/pARIS')?.wallMsOf(timeMs)).toBe(timeMs + 2 * HOUR_MS);
    expect(openZone('utc')?.wallMsOf(timeMs)).toBe(timeMs);
    expect(openZone('Asia/Calcutta')?.wallMsOf(timeMs)).toBe(
      openZone('Asia/Kolkata')?.wallMsOf(timeMs),
    );
  });
});

describe('a local day', () => {
  test.each([
    ['Africa/Cairo', '2026-04-24', 23],
    ['Africa/Cairo', '2026-10-29', 25],
    ['America/New_York', '2026-03-08', 23],
    ['America/New_York', '2026-11-01', 25],
    ['Europe/Paris', '2026-03-29', 23],
    ['Europe/Paris', '2026-10-25', 25],
    ['Australia/Lord_Howe', '2026-10-04', 23.5],
    ['Australia/Lord_Howe', '2026-04-05', 24.5],
    ['America/Havana', '2026-03-08', 23],
    ['America/Havana', '2026-11-01', 25],
    ['Asia/Beirut', '2026-03-29', 23],
    ['Asia/Kathmandu', '2026-03-29', 24],
    ['Pacific/Kiritimati', '2026-03-29', 24],
    ['Etc/GMT+12', '2026-03-29', 24],
    // The whole island went to bed on Thursday and woke up on Saturday.
    ['Pacific/Apia', '2011-12-30', 0],
  ])('in %s, %s has %s hours', (name, date, hours) => {
    const zone = zoneOf(name);
    const day = dayNumber(date);
    expect((zone.startOfDay(day + 1) - zone.startOfDay(day)) / HOUR_MS).toBe(hours);
  });

  test.each([
    // Midnight is skipped, there twice, or the clock is turned back over it.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00Z'],
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00Z'],
    ['America/Havana', '2026-11-01', '2026-11-01T04:00Z'],
    ['Africa/Cairo', '2026-10-30', '2026-10-29T22:00Z'],
    ['Asia/Kathmandu', '2026-11-30', '2026-11-29T18:15Z'],
    ['Pacific/Kiritimati', '2026-11-30', '2026-11-29T10:00Z'],
    ['Etc/GMT+12', '2026-11-30', '2026-11-30T12:00Z'],
  ])('in %s, %s begins at %s', (name, date, start) => {
    expect(zoneOf(name).startOfDay(dayNumber(date))).toBe(Date.parse(start));
  });

  test('begins with the first minute of its date, whatever zone and day', () => {
    const days = fc.oneof(
      fc.integer({ min: dayNumber('2024-01-01'), max: dayNumber('2027-12-31') }),
      fc.constantFrom(...['2026-04-24', '2026-10-29', '2026-03-29', '2026-11-01'].map(dayNumber)),
    );
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), days, (name, day) => {
        expect(zoneOf(name).startOfDay(day)).toBe(firstMinuteOf(name, day));
      }),
      { numRuns: 60 },
    );
  });
});

describe('the clock of a zone', () => {
  test('shows what the engine says, minute by minute, around each turn', () => {
    for (const name of ZONES) {
      const zone = zoneOf(name);
      const shown = clockOf(name);
      for (const [year, month, day] of [[2026, 3, 23] as const, [2026, 9, 29] as const]) {
        const startMs = Date.UTC(year, month, day);
        for (let atMs = startMs; atMs < startMs + 2 * DAY_MS; atMs += 15 * MINUTE_MS) {
          expect(zone.wallMsOf(atMs), `${name} ${atMs}`).toBe(shown(atMs));
        }
      }
    }
  });

  test('is cut into stretches exactly where it is turned', () => {
    const paris = zoneOf('Europe/Paris');
    const [fromMs, toMs] = [Date.UTC(2026, 0, 1), Date.UTC(2027, 0, 1)];
    const spring = Date.UTC(2026, 2, 29, 1);
    const autumn = Date.UTC(2026, 9, 25, 1);
    expect(paris.stretches(fromMs, toMs)).toEqual([
      { fromMs, toMs: spring, offsetMs: HOUR_MS },
      { fromMs: spring, toMs: autumn, offsetMs: 2 * HOUR_MS },
      { fromMs: autumn, toMs, offsetMs: HOUR_MS },
    ]);
    expect(paris.stretches(spring, autumn)).toHaveLength(1);
  });

  test('shows a wall time first at its instant, and a skipped one never', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: 0, max: 2 * 365 * 96 }),
        (name, n) => {
          const zone = zoneOf(name);
          const wallMs = Date.UTC(2025, 6, 1) + n * 15 * MINUTE_MS;
          const timeMs = zone.instantOf(wallMs);
          expect(zone.wallMsOf(timeMs)).toBeGreaterThanOrEqual(wallMs);
          for (let back = 1; back <= 180; back += 1) {
            const earlierMs = zone.wallMsOf(timeMs - back * MINUTE_MS);
            expect(earlierMs < wallMs).toBe(true);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  test('shows the same so many days before, also when it was turned meanwhile', () => {
    const timeMs = Date.parse('2026-10-27T09:30+01:00');
    expect(zoneOf('Europe/Paris').daysBefore(timeMs, 7)).toBe(Date.parse('2026-10-20T09:30+02:00'));
    expect(zoneOf('UTC').daysBefore(timeMs, 7)).toBe(timeMs - 7 * DAY_MS);
  });
});

describe('a period', () => {
  test.each([
    ['today', '2026-11-30', '2026-12-01'],
    ['yesterday', '2026-11-29', '2026-11-30'],
    ['this_week', '2026-11-30', '2026-12-07'],
    ['last_week', '2026-11-23', '2026-11-30'],
    ['this_month', '2026-11-01', '2026-12-01'],
    ['last_month', '2026-10-01', '2026-11-01'],
    ['this_year', '2026-01-01', '2027-01-01'],
    ['last_year', '2025-01-01', '2026-01-01'],
    ['2026', '2026-01-01', '2027-01-01'],
    ['2024', '2024-01-01', '2025-01-01'],
    ['2026-02', '2026-02-01', '2026-03-01'],
    ['2024-02-29', '2024-02-29', '2024-03-01'],
    ['2026-W48', '2026-11-23', '2026-11-30'],
    // A year of ISO 8601 begins with the week of its first Thursday.
    ['2026-W01', '2025-12-29', '2026-01-05'],
    ['2026-W53', '2026-12-28', '2027-01-04'],
  ])('on a Monday, %s is the days from %s to before %s', (period, from, to) => {
    const days = daysOfPeriod(period, MONDAY);
    expect(days).toEqual({ fromDay: dayNumber(from), toDay: dayNumber(to) });
  });

  test('weeks begin on Monday, on a Sunday too', () => {
    const lastWeek = { fromDay: MONDAY - 7, toDay: MONDAY };
    expect(daysOfPeriod('this_week', MONDAY - 1)).toEqual(lastWeek);
    expect(daysOfPeriod('last_month', dayNumber('2026-03-31'))).toEqual(daysOfPeriod('2026-02', 0));
  });

  test.each([
    ...[
      '',
      'Today',
      'tomorrow',
      'this_day',
      'last',
      'toString',
      '26',
      '2026-1',
      '2026-00',
      '2026-13',
    ],
    ...['2026-02-29', '2026-11-31', '2026-W00', '2025-W53', '2026-W1', '2026-w48', '2026-W48-1'],
    ...['20261130', '2026-334', '2026-11-30T10', ' 2026', '2026\n', '-2026', '٢٠٢٦'],
  ])('%j is none', (period) => {
    expect(daysOfPeriod(period, MONDAY)).toBeNull();
  });
});

function zoneOf(name: string): Zone {
  const zone = openZone(name);
  if (zone === null) throw new Error(`no zone ${name}`);
  return zone;
}

function dayNumber(date: string): number {
  return Date.parse(`${date}T00:00Z`) / DAY_MS;
}

/** The wall time of an instant by the engine's own formatting. */
function clockOf(name: string): (timeMs: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: name,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  return (timeMs) => Date.parse(`${format.format(timeMs).replace(' ', 'T')}Z`);
}

function firstMinuteOf(name: string, day: number): number {
  const shown = clockOf(name);
  let atMs = day * DAY_MS - 15 * HOUR_MS;
  while (shown(atMs) < day * DAY_MS) atMs += MINUTE_MS;
  return atMs;
}
