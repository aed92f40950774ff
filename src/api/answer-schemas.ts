/**
 * The JSON of the answers. The presenters are typed by these schemas, the OpenAPI document is
 * made from them, and the tests hold real answers against them.
 */
import { z } from 'zod';
import { ERRORS, EVENT_REJECTIONS } from '../errors.ts';

const time = z.iso
  .datetime({ precision: 3 })
  .meta({ description: 'ISO 8601, UTC, milliseconds.', example: '2026-11-30T10:00:00.000Z' });
const count = z.int().min(0);

/** A mark that is there only where it says something. */
function onlyTrue(description: string) {
  return z.literal(true).optional().meta({ description });
}

const incomplete = {
  partial: onlyTrue('Something could not be read: the numbers lack what `missing` names.'),
  missing: z.array(z.string()).optional(),
};

const windowFacts = {
  stream: z.string(),
  from: time,
  to: time.meta({ description: 'Exclusive.' }),
  asOf: time.meta({ description: 'All events acknowledged before this time are counted.' }),
  lagging: onlyTrue('`asOf` is more than 5 s behind.'),
  ...incomplete,
  stale: onlyTrue('An earlier answer, served because the store cannot be read now.'),
};

const bounds = {
  count: count.meta({ description: 'Never below the true count; the same as `upper`.' }),
  lower: count,
  upper: count,
};

const total = count.meta({ description: 'Exact sum of all counts in the window.' });
const exact = z.boolean().meta({ description: 'True: all numbers are exact.' });
const saturated = onlyTrue('A count passed 2^53 - 1 and stays there.');
const errorBound = z.number().min(0).meta({
  description: 'A count is at most this much too high, with 99.3 % confidence; 0 when exact.',
});
const belowNoiseFloor = onlyTrue(
  'The upper bound says nothing: the item need not have occurred at all.',
);
const distinctBounds = {
  estimate: count,
  lower: count.meta({ description: 'At 95 %.' }),
  upper: count.meta({ description: 'At 95 %.' }),
  exact,
};

export const topAnswer = z
  .strictObject({
    ...windowFacts,
    total,
    exact,
    k: count,
    returned: count,
    errorBound,
    maxUnlisted: count.meta({ description: 'No item that is not listed has a larger count.' }),
    saturated,
    items: z.array(
      z.strictObject({
        rank: z.int().min(1),
        item: z.string(),
        ...bounds,
      }),
    ),
  })
  .meta({ id: 'TopAnswer' });

export const distinctAnswer = z
  .strictObject({
    ...windowFacts,
    ...distinctBounds,
    standardError: z.number().min(0).meta({ description: 'Relative; 0 when exact.' }),
    total,
    withoutActor: count.meta({ description: 'Counts of events without an actor: left out.' }),
  })
  .meta({ id: 'DistinctAnswer' });

export const itemAnswer = z
  .strictObject({
    ...windowFacts,
    item: z.string(),
    ...bounds,
    belowNoiseFloor,
    total,
    exact,
    errorBound,
    saturated,
  })
  .meta({ id: 'ItemAnswer' });

export const itemsAnswer = z
  .strictObject({
    ...windowFacts,
    total,
    exact,
    errorBound,
    saturated,
    items: z.array(z.strictObject({ item: z.string(), ...bounds, belowNoiseFloor })),
  })
  .meta({ id: 'ItemCountsAnswer' });

export const seriesAnswer = z
  .strictObject({
    ...windowFacts,
    item: z.string().optional(),
    stepSeconds: z.int().min(60),
    points: z.array(
      z.strictObject({
        from: time,
        to: time,
        ...bounds,
        exact,
        distinct: z
          .strictObject(distinctBounds)
          .optional()
          .meta({ description: 'Only in the series of a whole stream.' }),
      }),
    ),
  })
  .meta({ id: 'SeriesAnswer' });

export const streamInfo = z
  .strictObject({
    stream: z.string(),
    generation: z
      .string()
      .meta({ description: 'Changes when the stream is deleted, and only then.' }),
  })
  .meta({ id: 'StreamInfo' });

export const streamList = z
  .strictObject({
    streams: z.array(z.strictObject({ stream: z.string() })),
    next: z
      .string()
      .nullable()
      .meta({ description: 'Pass as `after` for the next page; null at the end.' }),
    ...incomplete,
  })
  .meta({ id: 'StreamList' });

const eventRejection = z.strictObject({
  index: count.meta({ description: '0-based place of the event in the request.' }),
  code: z.enum(Object.keys(EVENT_REJECTIONS)),
  message: z.string(),
});

export const eventsAnswer = z
  .strictObject({
    accepted: count,
    rejected: count,
    duplicate: count.meta({ description: 'What the first request with this key had accepted.' }),
    errors: z
      .array(eventRejection)
      .meta({ description: 'The first 100 rejections; `rejected` is their full number.' }),
  })
  .meta({ id: 'EventsAnswer' });

export const problem = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.enum(Object.keys(ERRORS)),
    detail: z.string(),
    instance: z.string().meta({ description: 'The id of the request, as in the log.' }),
    parameter: z.string().optional(),
    index: count.optional(),
    rejected: count.optional(),
    errors: z.array(eventRejection).optional(),
    reasons: z.array(z.string()).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });

export const readyAnswer = z
  .strictObject({
    status: z.literal('ready'),
    warnings: z
      .array(z.string())
      .meta({ description: 'What does not keep it from answering: damaged entries, lag.' }),
  })
  .meta({ id: 'ReadyAnswer' });

export const aliveAnswer = z.strictObject({ status: z.literal('ok') }).meta({ id: 'AliveAnswer' });
