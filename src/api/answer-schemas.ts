/**
 * The JSON of the answers. The presenters are typed by these schemas, the OpenAPI document is
 * made from them, and the tests hold real answers against them.
 */
import { z } from 'zod';
import { ERRORS, EVENT_REJECTIONS } from '../errors.ts';
import { LEVELS } from '../streams/buckets.ts';
import { EXPLAINED_SUMMARIES_MAX, PREVIOUS_RANKS_MAX } from '../streams/limits.ts';

export const SET_OPERATIONS = ['union', 'intersection', 'difference'] as const;

export const time = z.iso
  .datetime({ precision: 3 })
  .meta({ description: 'ISO 8601, UTC, milliseconds.', example: '2026-11-30T10:00:00.000Z' });
export const count = z.int().min(0);

/** A mark that is there only where it says something. */
function onlyTrue(description: string) {
  return z.literal(true).optional().meta({ description });
}

export const incomplete = {
  partial: onlyTrue('Something could not be read: the numbers lack what `missing` names.'),
  missing: z.array(z.string()).optional(),
};

const explain = z
  .strictObject({
    summaries: z
      .array(
        z.strictObject({
          partition: count,
          stream: z.string(),
          where: z.string().optional(),
          level: z.enum(LEVELS),
          start: time,
          source: z.enum(['cache', 'store', 'part']).meta({
            description: 'A closed summary from the cache or the store, or an open part.',
          }),
          bytes: count.meta({ description: 'In memory, decoded.' }),
          itemsExact: z.boolean(),
          actorsExact: z.boolean(),
          cut: count.meta({ description: 'No item that it does not list has a larger count.' }),
          ageSeconds: z.number().meta({
            description: 'A part: since it was folded. Else: since the end of its bucket.',
          }),
        }),
      )
      .meta({ description: `The first ${EXPLAINED_SUMMARIES_MAX}, in the order of the calendar.` }),
    summaryCount: count.meta({ description: 'Of all that was read.' }),
    summaryBytes: count,
    spentMs: z.strictObject({
      index: z.number().meta({ description: 'Asking the partitions what there is.' }),
      fetch: z.number().meta({ description: 'Waiting for bytes.' }),
      decode: z.number(),
      answer: z.number().meta({ description: 'Working out the answer from the summaries.' }),
    }),
  })
  .meta({ id: 'Explain', description: 'Only with `explain=true`.' });

const spanFacts = {
  from: time,
  to: time.meta({ description: 'Exclusive.' }),
  widened: onlyTrue('An edge covers more than asked for: finer buckets of that time are gone.'),
  asOf: time.meta({ description: 'All events acknowledged before this time are counted.' }),
  lagging: onlyTrue('`asOf` is more than 5 s behind.'),
  ...incomplete,
  stale: onlyTrue('An earlier answer, served because the store cannot be read now.'),
  explain: explain.optional(),
};

const where = z.string().optional().meta({ description: 'As asked for.', example: 'country:IN' });
const windowFacts = { stream: z.string(), where, ...spanFacts };

const bounds = {
  count: count.meta({ description: 'Never below the true count; the same as `upper`.' }),
  lower: count,
  upper: count,
};
/** Of a ranking: by actors the count is an estimate. */
const rankedBounds = {
  count: z.number().min(0).meta({
    description: 'By events: never below the true count. By actors: the estimate.',
  }),
  lower: z.number().min(0),
  upper: z.number().min(0),
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
const blocked = onlyTrue('Moderation hides the item: its numbers are 0.');
const relativeError = z.number().min(0).meta({ description: 'Relative; 0 when exact.' });
const distinctBounds = {
  estimate: count,
  lower: count.meta({ description: 'At 95 %.' }),
  upper: count.meta({ description: 'At 95 %.' }),
  standardError: relativeError,
  exact,
};
const withoutActor = count.meta({
  description: 'Counts of events without an actor: left out.',
});
const by = z.enum(['events', 'actors']);
const movement = {
  previousRank: z
    .int()
    .min(1)
    .nullable()
    .optional()
    .meta({
      description: `Null: it was not among the first ${PREVIOUS_RANKS_MAX}.`,
    }),
  isNew: z.boolean().optional().meta({
    description: 'True: it certainly did not occur in the window before.',
  }),
};
const previous = z
  .strictObject({
    from: time,
    to: time,
    complete: z.boolean().meta({ description: 'False: not all of it is kept, so no row is new.' }),
  })
  .optional()
  .meta({ description: 'With `movement`: the window that rows are compared with.' });
const rank = z.int().min(1);

export const topAnswer = z
  .strictObject({
    ...windowFacts,
    by,
    total,
    exact,
    k: count,
    offset: count,
    returned: count,
    certainRanks: count.meta({
      description: 'So many first rows of the ranking are certainly those on top.',
    }),
    errorBound,
    maxUnlisted: z.number().min(0).meta({
      description: 'No item beyond the ranks up to `offset` + `k` has a larger measure.',
    }),
    saturated,
    halfLifeSeconds: z.int().optional().meta({ description: 'With `decay`.' }),
    standardError: relativeError.optional().meta({ description: 'By actors: of the rows.' }),
    previous,
    items: z.array(
      z.strictObject({
        rank,
        item: z.string(),
        ...rankedBounds,
        events: count.optional().meta({ description: 'By actors: at most so many events.' }),
        score: z.number().min(0).optional().meta({
          description: 'With `decay`: what the ranking is by; never below the true score.',
        }),
        scoreLower: z.number().min(0).optional(),
        ...movement,
      }),
    ),
  })
  .meta({ id: 'TopAnswer' });

export const trendingAnswer = z
  .strictObject({
    ...windowFacts,
    by,
    total,
    exact,
    k: count,
    returned: count,
    trendingCount: count.meta({ description: 'Rows there are altogether.' }),
    baseline: z.strictObject({
      kind: z.enum(['days', 'windows']).meta({
        description:
          'The same clock time on earlier days; for want of history the windows right before.',
      }),
      used: count.meta({ description: 'Earlier windows with data.' }),
      of: count.meta({ description: 'As asked for.' }),
      tz: z.string(),
    }),
    minSupport: count,
    threshold: z.number().meta({ description: 'A row with a lower score does not trend.' }),
    previous,
    items: z.array(
      z.strictObject({
        rank,
        item: z.string(),
        ...rankedBounds,
        expected: z.number().min(0).meta({ description: 'What the days let expect now.' }),
        lift: z.number().min(0).nullable().meta({
          description: '`lower` divided by `expected`; null where nothing was expected.',
        }),
        score: z.number().meta({ description: 'Standard deviations above what is usual.' }),
        days: z.array(
          z.strictObject({
            from: time,
            to: time,
            count: z.number().min(0),
            lower: z.number().min(0),
            upper: z.number().min(0),
            scale: z.number().min(0).meta({
              description: 'How many times as busy the rest of the stream is now.',
            }),
          }),
        ),
        ...movement,
      }),
    ),
  })
  .meta({ id: 'TrendingAnswer' });

export const distinctAnswer = z
  .strictObject({ ...windowFacts, ...distinctBounds, total, withoutActor })
  .meta({ id: 'DistinctAnswer' });

export const distinctByAnswer = z
  .strictObject({
    ...windowFacts,
    by: z.string(),
    union: z.strictObject(distinctBounds).meta({ description: 'Of the whole stream.' }),
    parts: z.array(z.strictObject({ value: z.string(), ...distinctBounds, total })),
    sumOfParts: count,
    reason: z.string().meta({ description: 'Why `sumOfParts` and `union` differ.' }),
    total,
    withoutActor,
    withoutDimension: count.meta({
      description: 'Counts of events that do not name the dimension: in no part.',
    }),
  })
  .meta({ id: 'DistinctByAnswer' });

export const itemDistinctAnswer = z
  .strictObject({
    ...windowFacts,
    item: z.string(),
    ...distinctBounds,
    events: z.strictObject(bounds).meta({ description: 'How often the item occurred.' }),
    blocked,
  })
  .meta({ id: 'ItemDistinctAnswer' });

export const setAnswer = z
  .strictObject({
    op: z.enum(SET_OPERATIONS),
    where,
    ...spanFacts,
    streams: z.array(
      z.strictObject({ stream: z.string(), from: time, to: time, ...distinctBounds, total }),
    ),
    estimate: count.nullable().meta({
      description: 'Null where the error is as large as the answer: see `conclusive`.',
    }),
    lower: count,
    upper: count,
    standardError: relativeError.nullable(),
    exact,
    conclusive: z.boolean().meta({
      description: 'False: the bounds hold, but they do not tell whether there is anybody.',
    }),
  })
  .meta({ id: 'SetAnswer' });

export const itemAnswer = z
  .strictObject({
    ...windowFacts,
    item: z.string(),
    ...bounds,
    belowNoiseFloor,
    blocked,
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
    items: z.array(z.strictObject({ item: z.string(), ...bounds, belowNoiseFloor, blocked })),
  })
  .meta({ id: 'ItemCountsAnswer' });

export const seriesAnswer = z
  .strictObject({
    ...windowFacts,
    item: z.string().optional(),
    blocked,
    step: z.string().meta({ description: 'As asked for.', example: '1h' }),
    stepSeconds: z
      .int()
      .min(60)
      .optional()
      .meta({ description: 'Where all steps are of the same length.' }),
    tz: z.string(),
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

export const queueAnswer = z
  .strictObject({
    ...windowFacts,
    k: count,
    returned: count,
    items: z.array(z.strictObject({ item: z.string(), ...bounds })),
  })
  .meta({ id: 'ModerationQueueAnswer' });

export const queryAnswer = z
  .strictObject({
    results: z
      .array(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('top'), answer: topAnswer }),
          z.strictObject({ type: z.literal('trending'), answer: trendingAnswer }),
          z.strictObject({
            type: z.literal('distinct'),
            answer: z.union([distinctAnswer, distinctByAnswer, itemDistinctAnswer]),
          }),
          z.strictObject({ type: z.literal('items'), answer: itemsAnswer }),
          z.strictObject({ type: z.literal('series'), answer: seriesAnswer }),
        ]),
      )
      .meta({ description: 'In the order of the questions.' }),
  })
  .meta({ id: 'QueryAnswer' });

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
