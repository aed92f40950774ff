/** What boards take and answer, as JSON. */
import { z } from 'zod';

import {
  AROUND_MAX,
  BUCKETS_MAX,
  DECIMALS_MAX,
  ENTRIES_MAX,
  K_MAX,
  KEEP_SEASONS_MAX,
  META_BYTES_MAX,
  RANKS_MAX,
  VIEWS_MAX,
} from '../boards/limits.ts';
import { CALENDAR_VIEWS } from '../boards/season-starts.ts';
import { ALL_TIME } from '../boards/store-port.ts';
import { utf8Length } from '../lib/utf8.ts';
import { count, incomplete, time } from './answer-schemas.ts';
import { flag, wholeNumber } from './parameters.ts';
import { boardName, idText, memberText } from './text-schemas.ts';

const OFFSET_MAX = 1_000_000_000;
const TEXT_MAX = 2_048;
const K_DEFAULT = 10;
const AROUND_DEFAULT = 5;
const BUCKETS_DEFAULT = 10;

const number = z.number('expected a number, not infinite');

const scoreEntry = z
  .strictObject({
    member: memberText,
    by: number.optional().meta({ description: 'In mode increment: what to add.' }),
    score: number.optional().meta({ description: 'In modes best and last.' }),
    id: idText.optional(),
  })
  .refine(
    // The one that the board does not take would be left out in silence.
    ({ by, score }) => by === undefined || score === undefined,
    'expected by or score, not both',
  )
  .meta({ id: 'ScoreEntry' });

const scoreEntries = z
  .array(scoreEntry)
  .min(1, 'expected 1 increment at least')
  .max(ENTRIES_MAX, `expected ${ENTRIES_MAX} increments at most`);

/** For the description only: which of the forms a body has is told before it is checked. */
export const scoresBody = z.union([
  scoreEntry,
  scoreEntries,
  z.strictObject({ increments: scoreEntries }),
]);
export { scoreEntries };

export const scoresAnswer = z
  .strictObject({
    board: z.string(),
    shards: count,
    results: z.array(
      z.strictObject({
        member: z.string(),
        score: z.number().nullable().meta({
          description: 'All-time, after the request; null: there is no such member.',
        }),
        rank: count.nullable().optional().meta({ description: 'With `ranks=true`.' }),
        duplicate: z.literal(true).optional(),
        code: z.literal('out_of_range').optional(),
      }),
    ),
  })
  .meta({ id: 'ScoresAnswer' });

export const memberChange = z
  .strictObject({
    hidden: z.boolean('expected true or false').optional(),
    // The schema library's own JSON goes as deep into the stack as the value is, and leaves out
    // what is called __proto__.
    meta: z
      .unknown()
      .refine(isShortJson, `must be finite, and at most ${META_BYTES_MAX} bytes of JSON`)
      .optional()
      .meta({ description: 'Any JSON, shown in rows; null removes it.' }),
  })
  .refine((change) => Object.keys(change).length > 0, 'nothing to change')
  .meta({ id: 'MemberChange' });

/** A value that came as JSON, of any depth: nothing here goes deeper than what is allowed. */
function isShortJson(value: unknown): boolean {
  const waiting = [value];
  // Each value has a byte at least, so none that is short enough has more of them.
  for (let count = 1; waiting.length > 0; count += 1) {
    if (count > META_BYTES_MAX) return false;
    const next = waiting.pop();
    if (next === Infinity || next === -Infinity) return false;
    if (typeof next !== 'object' || next === null) continue;
    for (const inner of Object.values(next)) waiting.push(inner);
  }
  return utf8Length(JSON.stringify(value)) <= META_BYTES_MAX;
}

const namedView = z.enum(CALENDAR_VIEWS, `expected one of ${CALENDAR_VIEWS.join(', ')}`);
const cronView = z.strictObject({
  name: z.string('expected a string').min(1).max(32),
  cron: z.string('expected a string').min(9).max(100).meta({ example: '0 20 * * 5' }),
});

export const boardSettings = z
  .strictObject({
    mode: z.enum(['increment', 'best', 'last']).optional(),
    order: z.enum(['descending', 'ascending']).optional(),
    ties: z.enum(['earliest', 'competition', 'dense']).optional(),
    decimals: z.int().min(0).max(DECIMALS_MAX).optional(),
    views: z
      .array(z.union([namedView, cronView]))
      .max(VIEWS_MAX)
      .optional()
      .meta({ description: 'Beside `all` (all-time), which is always there.' }),
    tz: z.string().max(64).optional().meta({ example: 'Asia/Kolkata' }),
    keepSeasons: z.int().min(0).max(KEEP_SEASONS_MAX).optional(),
    autoSplit: z.boolean().optional(),
  })
  .meta({ id: 'BoardSettings' });

export const boardInfo = z
  .strictObject({
    board: z.string(),
    settings: boardSettings.required(),
    createdAt: time,
    shards: count,
    movingTo: count.optional().meta({ description: 'While it splits or shrinks.' }),
    seasons: z.array(
      z.strictObject({
        view: z.string(),
        season: z.string(),
        startsAt: time.nullable(),
        endsAt: time.nullable(),
        current: z.literal(true).optional(),
      }),
    ),
  })
  .meta({ id: 'Board' });

export const boardList = z.strictObject({
  boards: z.array(z.strictObject({ board: z.string(), shards: count })),
  next: boardName.optional().meta({ description: 'Ask with it as `after`.' }),
});

export const shardsBody = z.strictObject({
  shards: z.int('expected a whole number').min(1).max(256),
});

const frame = {
  board: z.string(),
  view: z.string(),
  season: z.string(),
  endsAt: time.nullable(),
  asOf: time,
  of: count.meta({ description: 'Members that are shown.' }),
  shards: count,
  ...incomplete,
};

const boardRow = z.strictObject({
  rank: count,
  member: z.string(),
  score: z.number(),
  meta: z.json().optional(),
  self: z.literal(true).optional(),
});

export const pageAnswer = z
  .strictObject({
    ...frame,
    entries: z.array(boardRow),
    next: z.string().optional(),
    previous: z.string().optional(),
    stale: z.literal(true).optional(),
  })
  .meta({ id: 'BoardPage' });

export const memberAnswer = z
  .strictObject({
    ...frame,
    member: z.string(),
    score: z.number(),
    rank: count.nullable().meta({ description: 'Null while the member is hidden.' }),
    percentile: z.number().nullable().meta({ description: 'Share ranked strictly below, 0..100.' }),
    hidden: z.literal(true).optional(),
    meta: z.json().optional(),
  })
  .meta({ id: 'BoardMember' });

export const ranksBody = z.strictObject({
  members: z.array(memberText).min(1).max(RANKS_MAX, `expected ${RANKS_MAX} members at most`),
});

export const ranksAnswer = z
  .strictObject({
    ...frame,
    members: z.array(
      z.strictObject({
        member: z.string(),
        score: z.number().nullable(),
        rank: count.nullable(),
        place: count.nullable().meta({ description: 'Among those asked for.' }),
        meta: z.json().optional(),
      }),
    ),
  })
  .meta({ id: 'BoardRanks' });

export const statsAnswer = z
  .strictObject({
    ...frame,
    sum: z.string().meta({ description: 'Exact, as a decimal text: it may be very large.' }),
    min: z.number().nullable(),
    max: z.number().nullable(),
    histogram: z.array(z.strictObject({ from: z.number(), to: z.number(), count })),
  })
  .meta({ id: 'BoardStats' });

const viewText = z.string().min(1).max(32).default(ALL_TIME);
const seasonText = z.string().min(1).max(32).optional();

/** Of every question about a season. */
export const SEASON_QUERY = {
  view: viewText.meta({ description: 'A view of the board. Default `all`: all-time.' }),
  season: seasonText.meta({ description: 'Id of a season. Default: the current one.' }),
};

export const PAGE_QUERY = {
  ...SEASON_QUERY,
  k: wholeNumber(1, K_MAX, K_DEFAULT, 'How many rows.').query,
  offset: wholeNumber(0, OFFSET_MAX, 0, 'How many rows to leave out first.').query,
  cursor: z.string().min(1).max(TEXT_MAX).optional().meta({
    description: '`next` or `previous` of another page, in place of `offset`.',
  }),
  self: memberText.optional().meta({ description: 'A member whose row is marked.' }),
  fresh: flag('Do not answer from what was read a moment ago.').query,
};

export const AROUND_QUERY = {
  ...SEASON_QUERY,
  n: wholeNumber(1, AROUND_MAX, AROUND_DEFAULT, 'How many rows, the member among them.').query,
};

export const STATS_QUERY = {
  ...SEASON_QUERY,
  buckets: wholeNumber(1, BUCKETS_MAX, BUCKETS_DEFAULT, 'Of the histogram.').query,
};
