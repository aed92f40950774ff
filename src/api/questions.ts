/**
 * The parameters of each question, and from what they say to the question that the streams room
 * answers: the same for a route of its own and for one of several in `POST /v1/query`.
 */
import { z } from 'zod';
import { DAY_MS, HOUR_MS } from '../streams/buckets.ts';
import {
  BASELINE_DAYS_DEFAULT,
  BASELINE_DAYS_MAX,
  MIN_SUPPORT_DEFAULT,
  TOP_OFFSET_MAX,
} from '../streams/limits.ts';
import type {
  DistinctByQuestion,
  DistinctQuestion,
  ItemDistinctQuestion,
  ItemsQuestion,
  ModerationQueueQuestion,
  Question,
  SeriesQuestion,
  TopQuestion,
  TrendingQuestion,
} from '../streams/questions/question.ts';
import { parseStep } from '../streams/series-spans.ts';
import { K_MAX } from '../streams/settings.ts';
import { spanOf } from '../streams/window.ts';
import {
  type Checked,
  flag,
  jsonShape,
  oneOf,
  type Parameters,
  textParameter,
  wholeNumber,
} from './parameters.ts';
import { itemText, streamName } from './text-schemas.ts';
import {
  DIMENSION,
  misfit,
  WHERE_PARAMETER,
  WINDOW_PARAMETERS,
  windowOf,
  windowText,
  ZONE_DEFAULT,
} from './window-parameters.ts';

const K_DEFAULT = 10;
const MIN_SUPPORT_MAX = 1_000_000_000;
export const ITEMS_PER_CALL_MAX = 500;
/** Up to this length a series is cut into minutes by default, beyond it into hours, then days. */
const MINUTE_SERIES_MS = 2 * HOUR_MS;
const HOUR_SERIES_MS = 31 * DAY_MS;
const STEP_EXPECTED = 'expected a step such as 15m, 1h, 1d, 1w or 1mo';

const SEGMENT_PARAMETERS = { ...WINDOW_PARAMETERS, ...WHERE_PARAMETER } as const;
const k = wholeNumber(1, K_MAX, K_DEFAULT, 'How many items to list, up to `kMax` of the stream.');
const movement = flag('Compares each row with the window of the same length right before.');

export const TOP_PARAMETERS = {
  ...SEGMENT_PARAMETERS,
  k,
  offset: wholeNumber(0, TOP_OFFSET_MAX, 0, 'So many rows are left out before the first.'),
  by: oneOf(['events', 'actors'], 'events', 'What is counted for the ranking.'),
  decay: textParameter(
    windowText.optional().meta({
      description:
        'Half-life: ranks by a `score` in which an event counts half as much after this time. ' +
        'Only by events.',
      example: '30m',
    }),
  ),
  movement,
} as const;

export const TRENDING_PARAMETERS = {
  ...SEGMENT_PARAMETERS,
  k,
  by: oneOf(['events', 'actors'], 'events', 'What is compared with what is usual.'),
  baseline: wholeNumber(
    1,
    BASELINE_DAYS_MAX,
    BASELINE_DAYS_DEFAULT,
    'How many earlier days say what is usual.',
  ),
  minSupport: wholeNumber(
    1,
    MIN_SUPPORT_MAX,
    MIN_SUPPORT_DEFAULT,
    'An item with a lower bound below this does not trend.',
  ),
  movement,
} as const;

export const DISTINCT_PARAMETERS = {
  ...SEGMENT_PARAMETERS,
  by: textParameter(
    DIMENSION.optional().meta({
      description: 'Also for each value of this dimension. Not together with `where`.',
      example: 'country',
    }),
  ),
} as const;

export const ITEM_PARAMETERS = SEGMENT_PARAMETERS;

export const SERIES_PARAMETERS = {
  ...SEGMENT_PARAMETERS,
  step: textParameter(
    z
      .string()
      .refine((text) => parseStep(text) !== null, STEP_EXPECTED)
      .optional()
      .meta({
        description:
          'Length of a point: minutes, hours, days, weeks or months, `15m`, `1h`, `1d`, `1w`, ' +
          '`1mo`. Default by the length of the window: `1m` up to 2 h, `1h` up to 31 d, else `1d`.',
        example: '1h',
      }),
  ),
} as const;

export const QUEUE_PARAMETERS = { ...SEGMENT_PARAMETERS, k } as const;

export const itemList = z
  .array(itemText, 'expected a list of strings')
  .min(1, 'must not be empty')
  .max(ITEMS_PER_CALL_MAX, `must not hold more than ${ITEMS_PER_CALL_MAX} items`);

function questionSchema<const Type extends Question['type'], Of extends Parameters>(
  type: Type,
  parameters: Of,
) {
  return z.strictObject({
    type: z.literal(type),
    stream: streamName.default('default'),
    ...jsonShape(parameters),
  });
}

/** One of several questions. */
export const questionInput = z.discriminatedUnion(
  'type',
  [
    questionSchema('top', TOP_PARAMETERS),
    questionSchema('trending', TRENDING_PARAMETERS),
    questionSchema('distinct', DISTINCT_PARAMETERS).extend({ item: itemText.optional() }),
    questionSchema('items', ITEM_PARAMETERS).extend({ items: itemList }),
    questionSchema('series', SERIES_PARAMETERS).extend({ item: itemText.optional() }),
  ],
  'expected top, trending, distinct, items or series',
);

/** @throws ApiError invalid_parameter, or WindowError */
export function questionOf(input: z.output<typeof questionInput>, nowMs: number): Question {
  const { stream } = input;
  switch (input.type) {
    case 'top':
      return { type: 'top', ...topQuestion(stream, input) };
    case 'trending':
      return { type: 'trending', ...trendingQuestion(stream, input) };
    case 'items':
      return { type: 'items', ...itemsQuestion(stream, input.items, input) };
    case 'series':
      return { type: 'series', ...seriesQuestion(stream, input.item ?? null, input, nowMs) };
    case 'distinct': {
      const { item, by } = input;
      if (item !== undefined) {
        if (by !== undefined) throw misfit('by', 'cannot be combined with item');
        return { type: 'item_distinct', ...itemDistinctQuestion(stream, item, input) };
      }
      return by === undefined
        ? { type: 'distinct', ...distinctQuestion(stream, input) }
        : { type: 'distinct_by', ...distinctByQuestion(stream, by, input) };
    }
  }
}

export function topQuestion(stream: string, asked: Checked<typeof TOP_PARAMETERS>): TopQuestion {
  const { k: rows, offset, by, decay = null, movement: isCompared } = asked;
  const ranking = { k: rows, offset, by, halfLifeMs: decay, movement: isCompared };
  return { stream, ...segmentQuestion(asked), ...ranking };
}

export function trendingQuestion(
  stream: string,
  asked: Checked<typeof TRENDING_PARAMETERS>,
): TrendingQuestion {
  const { k: rows, by, baseline, minSupport, movement: isCompared, tz } = asked;
  return {
    stream,
    ...segmentQuestion(asked, true),
    k: rows,
    by,
    baselineDays: baseline,
    minSupport,
    movement: isCompared,
    zone: tz ?? ZONE_DEFAULT,
  };
}

export function distinctQuestion(
  stream: string,
  asked: Checked<typeof SEGMENT_PARAMETERS>,
): DistinctQuestion {
  return { stream, ...segmentQuestion(asked) };
}

/** @throws ApiError invalid_parameter */
export function distinctByQuestion(
  stream: string,
  dimension: string,
  asked: Checked<typeof SEGMENT_PARAMETERS>,
): DistinctByQuestion {
  const { where, ...question } = segmentQuestion(asked);
  if (where !== null) throw misfit('where', 'cannot be combined with by');
  return { stream, ...question, dimension };
}

export function itemsQuestion(
  stream: string,
  items: readonly string[],
  asked: Checked<typeof ITEM_PARAMETERS>,
): ItemsQuestion {
  return { stream, ...segmentQuestion(asked), items };
}

export function itemDistinctQuestion(
  stream: string,
  item: string,
  asked: Checked<typeof ITEM_PARAMETERS>,
): ItemDistinctQuestion {
  return { stream, ...segmentQuestion(asked), item };
}

/** @throws WindowError, ApiError invalid_parameter */
export function seriesQuestion(
  stream: string,
  item: string | null,
  asked: Checked<typeof SERIES_PARAMETERS>,
  nowMs: number,
): SeriesQuestion {
  const question = segmentQuestion(asked, true);
  const { fromMs, toMs } = spanOf(question.window, nowMs);
  const { step = defaultStep(toMs - fromMs) } = asked;
  if (question.window.kind === 'trailing') checkStep(step, question.window.lengthMs);
  return {
    stream,
    ...question,
    step,
    zone: asked.tz ?? ZONE_DEFAULT,
    ...(item === null ? {} : { item }),
  };
}

export function queueQuestion(
  stream: string,
  asked: Checked<typeof QUEUE_PARAMETERS>,
): ModerationQueueQuestion {
  return { stream, ...segmentQuestion(asked), k: asked.k };
}

function segmentQuestion(asked: Checked<typeof SEGMENT_PARAMETERS>, usesZone = false) {
  const { where = null, explain } = asked;
  return { window: windowOf(asked, usesZone), where, explain };
}

/** The only point of a longer step would hold more than the window. */
function checkStep(step: string, windowMs: number): void {
  const isLonger = (parseStep(step)?.lengthMs ?? 0) > windowMs;
  if (isLonger) throw misfit('step', 'must not be longer than the window');
}

function defaultStep(lengthMs: number): string {
  if (lengthMs <= MINUTE_SERIES_MS) return '1m';
  return lengthMs <= HOUR_SERIES_MS ? '1h' : '1d';
}
