/** Which window a question is about, in the words of a query string or of JSON. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { utf8Length } from '../lib/utf8.ts';
import { HOUR_MS } from '../streams/buckets.ts';
import { VALUE_BYTES_MAX } from '../streams/limits.ts';
import { DIMENSION_NAME } from '../streams/settings.ts';
import type { Segment } from '../streams/shares.ts';
import { parseWindow, type WindowRequest } from '../streams/window.ts';
import { type Checked, flag, textParameter } from './parameters.ts';
import { isoTime, isWellFormed } from './text-schemas.ts';

const WINDOW_DEFAULT_MS = HOUR_MS;
export const ZONE_DEFAULT = 'UTC';
const WINDOW_LONGEST = '400d';
const EPOCH_MS = /^\d{1,15}$/;
/** What the calendar makes of it is checked there; longer texts need not get that far. */
const PERIOD = /^[a-z0-9W_-]{1,16}$/;
const ZONE = /^[A-Za-z0-9_+/-]{1,64}$/;

/** `90m`, `24h`, `400d` -> ms. */
export const windowText = z
  .string()
  .regex(/^[1-9]\d{0,5}[mhd]$/, 'expected a whole number of m, h or d, such as 90m, 24h or 31d')
  .transform((value, context) => {
    const lengthMs = parseWindow(value);
    if (lengthMs !== null) return lengthMs;
    context.addIssue(`must not be longer than ${WINDOW_LONGEST}`);
    return z.NEVER;
  });

const TIME_EXPECTED =
  'expected epoch milliseconds or an ISO 8601 time with offset (a + is written %2B)';
const timeText = z.string().transform((value, context) => {
  if (EPOCH_MS.test(value)) return Number(value);
  if (isoTime.safeParse(value).success) return Date.parse(value);
  context.addIssue(TIME_EXPECTED);
  return z.NEVER;
});

const timeNumber = z.int(TIME_EXPECTED).min(0, TIME_EXPECTED).max(999_999_999_999_999);

function time(description: string, example: string) {
  const meta = { description, example };
  return {
    query: timeText.optional().meta(meta),
    json: z.union([timeNumber, timeText], TIME_EXPECTED).optional().meta(meta),
  };
}

/** `country:IN`: up to the first colon the dimension, all behind it the value. */
const whereText = z.string().transform((value, context): Segment => {
  const colon = value.indexOf(':');
  const dimension = value.slice(0, Math.max(0, colon));
  const rest = value.slice(colon + 1);
  if (!DIMENSION_NAME.test(dimension)) {
    context.addIssue('expected DIMENSION:VALUE, such as country:IN');
  } else if (rest === '' || utf8Length(rest) > VALUE_BYTES_MAX || !isWellFormed(rest)) {
    context.addIssue(`expected a value of 1 to ${VALUE_BYTES_MAX} bytes behind the colon`);
  }
  return { dimension, value: rest };
});

export const DIMENSION = z.string().regex(DIMENSION_NAME, 'expected the name of a dimension');

/** Of every question about a window. */
export const WINDOW_PARAMETERS = {
  window: textParameter(
    windowText.optional().meta({
      description: `Length of the window: \`Nm\`, \`Nh\` or \`Nd\`, up to \`${WINDOW_LONGEST}\`. Default \`1h\`.`,
      example: '24h',
    }),
  ),
  until: time(
    'End of the window (exclusive), rounded down to the minute; not in the future. Default: now.',
    '2026-11-30T10:00:00Z',
  ),
  from: time(
    'In place of `window`: where the window begins, rounded down to the minute.',
    '2026-11-30T10:00:00Z',
  ),
  to: time(
    'With `from`: where the window ends (exclusive), rounded down to the minute. Default: now.',
    '2026-11-30T12:00:00Z',
  ),
  period: textParameter(
    z
      .string()
      .regex(PERIOD, 'expected a period such as today, last_week, 2026-11 or 2026-W48')
      .optional()
      .meta({
        description:
          'In place of `window`, a time of the calendar: `today`, `yesterday`, `this_week`, ' +
          '`last_week`, `this_month`, `last_month`, `this_year`, `last_year`, `2026`, `2026-11`, ' +
          '`2026-11-30` or `2026-W48`. Weeks begin on Monday.',
        example: 'yesterday',
      }),
  ),
  tz: textParameter(
    z
      .string()
      .regex(ZONE, 'expected the IANA name of a time zone, such as Asia/Kolkata')
      .optional()
      .meta({
        description: 'IANA name of the time zone by whose clock days begin. Default `UTC`.',
        example: 'Asia/Kolkata',
      }),
  ),
  explain: flag('Adds what was read for the answer, and how long each step took.'),
} as const;

export const WHERE_PARAMETER = {
  where: textParameter(
    whereText.optional().meta({
      description: 'Only events with this value of a dimension that the stream keeps.',
      example: 'country:IN',
    }),
  ),
} as const;

export type WindowParameters = Omit<Checked<typeof WINDOW_PARAMETERS>, 'explain'>;

/**
 * The window that is asked for: trailing unless `from` or `period` say else. `usesZone`: the zone
 * means something to the question also without a period.
 *
 * @throws ApiError invalid_parameter for parameters that do not go together
 */
export function windowOf(asked: WindowParameters, usesZone = false): WindowRequest {
  const { window, until, from, to, period, tz } = asked;
  if (tz !== undefined && period === undefined && !usesZone) {
    throw misfit('tz', 'means something only with period');
  }
  if (period !== undefined) {
    refuseBeside('period', { window, until, from, to });
    return { kind: 'period', period, zone: tz ?? ZONE_DEFAULT };
  }
  if (from !== undefined) {
    refuseBeside('from', { window, until });
    return { kind: 'range', fromMs: from, toMs: to ?? null };
  }
  if (to !== undefined) throw misfit('to', 'goes with from');
  return { kind: 'trailing', lengthMs: window ?? WINDOW_DEFAULT_MS, untilMs: until ?? null };
}

function refuseBeside(chosen: string, others: Readonly<Record<string, unknown>>): void {
  const [other] = Object.entries(others).find(([, value]) => value !== undefined) ?? [];
  if (other !== undefined) throw misfit(other, `cannot be combined with ${chosen}`);
}

export function misfit(parameter: string, message: string): ApiError {
  return new ApiError('invalid_parameter', `${parameter}: ${message}`, { parameter });
}
