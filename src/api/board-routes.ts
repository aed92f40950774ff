/** Leaderboards: scores in; pages, members, ranks and statistics out. */
import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { z } from 'zod';
import type { Boards, PageAsked, ScoreEntry } from '../boards/boards.ts';
import { ApiError } from '../errors.ts';
import type { AnswerCache } from './answer-cache.ts';
import {
  presentBoard,
  presentBoards,
  presentMember,
  presentPage,
  presentRanks,
  presentScores,
  presentStats,
  settingsOf,
} from './board-presenters.ts';
import {
  AROUND_QUERY,
  boardInfo,
  boardList,
  boardSettings,
  memberAnswer,
  memberChange,
  PAGE_QUERY,
  pageAnswer,
  ranksAnswer,
  ranksBody,
  SEASON_QUERY,
  scoreEntries,
  scoresAnswer,
  scoresBody,
  shardsBody,
  STATS_QUERY,
  statsAnswer,
} from './board-schemas.ts';
import { type BodyReader, decodeUtf8, mediaTypeOf, parseJson } from './body-reader.ts';
import { idempotencyHeader, idempotencyKeyOf } from './idempotency-key.ts';
import { BODY_ERRORS, readJson } from './json-body.ts';
import { flag, queryShape, wholeNumber } from './parameters.ts';
import type { ApiMetrics } from './metrics.ts';
import { arePlainEntries } from './plain-entries.ts';
import { type Endpoint, endpoint } from './route.ts';
import { JSON_TYPE, sendBytes, sendJson } from './send-json.ts';
import { boardName, pathBoard, pathMember } from './text-schemas.ts';

const LIST_LIMIT_MAX = 1_000;
const LIST_LIMIT_DEFAULT = 100;
const FINGERPRINT_CHARACTERS = 22;

const boardPath = z.strictObject({ board: pathBoard });
const memberPath = z.strictObject({ board: pathBoard, member: pathMember });

const READ_ERRORS = [
  'invalid_path',
  'unknown_parameter',
  'repeated_parameter',
  'invalid_parameter',
  'board_not_found',
  'season_not_found',
  'stream_damaged',
  'store_unavailable',
] as const;
const WRITE_ERRORS = [...READ_ERRORS, ...BODY_ERRORS, 'outcome_unknown'] as const;

const base = {
  method: 'get',
  tag: 'Boards',
  path: '/v1/boards/{board}',
  pathParameters: boardPath,
  query: z.strictObject({}),
  errors: READ_ERRORS,
} as const;

const listRoute = {
  ...base,
  path: '/v1/boards',
  summary: 'The boards, in the order of their names',
  pathParameters: z.strictObject({}),
  query: z.strictObject({
    after: boardName.optional().meta({ description: 'Only names after this one.' }),
    ...queryShape({
      limit: wholeNumber(1, LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT, 'How many to list.'),
    }),
  }),
  answers: { 200: { description: 'A page of boards.', schema: boardList } },
} as const;

const infoRoute = {
  ...base,
  summary: 'A board: its settings, parts and seasons',
  answers: { 200: { description: 'The board.', schema: boardInfo } },
} as const;

const putRoute = {
  ...base,
  method: 'put',
  summary: 'Make a board, or change what may be changed',
  description:
    '`keepSeasons` and `autoSplit` can be changed. All else is settled when the board is made, ' +
    'with default settings by its first score.',
  body: { description: 'Settings.', content: { [JSON_TYPE]: { schema: boardSettings } } },
  answers: {
    200: { description: 'It is as asked for.', schema: boardInfo },
    201: { description: 'It was made.', schema: boardInfo },
  },
  errors: [...WRITE_ERRORS, 'invalid_settings', 'settings_fixed', 'too_many_boards'],
} as const;

const deleteRoute = {
  ...base,
  method: 'delete',
  summary: 'Delete a board with all its scores',
  answers: { 204: { description: 'It is gone. One that is made again starts empty.' } },
  errors: [...READ_ERRORS, 'outcome_unknown'],
} as const;

const shardsRoute = {
  ...base,
  method: 'put',
  path: '/v1/boards/{board}/shards',
  summary: 'Split a board into twice as many parts, or shrink it to half as many',
  description: 'It goes on to be written and read, exactly. One step at a time.',
  body: { description: 'How many.', content: { [JSON_TYPE]: { schema: shardsBody } } },
  answers: { 202: { description: 'It has begun, or is so already.', schema: boardInfo } },
  errors: [...WRITE_ERRORS, 'invalid_shards', 'move_under_way'],
} as const;

const scoresRoute = {
  ...base,
  method: 'post',
  path: '/v1/boards/{board}/scores',
  summary: 'Send scores',
  description:
    'One, a list, or `{"increments": [...]}`. Makes the board if there is none. On one part all ' +
    'are applied or none; over several, an entry whose result would leave the safe range says so.',
  query: z.strictObject(queryShape({ ranks: flag('Whether to answer with ranks.') })),
  headers: z.object(idempotencyHeader),
  body: { description: 'Scores.', content: { [JSON_TYPE]: { schema: scoresBody } } },
  answers: { 200: { description: 'They are in the store.', schema: scoresAnswer } },
  errors: [
    ...WRITE_ERRORS,
    'invalid_header',
    'wrong_score_field',
    'invalid_score',
    'out_of_range',
    'key_reused',
    'ids_full',
    'too_many_boards',
  ],
} as const;

const topRoute = {
  ...base,
  path: '/v1/boards/{board}/top',
  summary: 'A page of a board, at any depth',
  query: z.strictObject(PAGE_QUERY),
  answers: { 200: { description: 'The page.', schema: pageAnswer } },
  errors: [...READ_ERRORS, 'invalid_cursor', 'dense_ranks_too_large'],
} as const;

const memberRoute = {
  ...base,
  path: '/v1/boards/{board}/members/{member}',
  pathParameters: memberPath,
  summary: 'Score and rank of a member',
  query: z.strictObject(SEASON_QUERY),
  answers: { 200: { description: 'The member.', schema: memberAnswer } },
  errors: [...READ_ERRORS, 'member_not_found', 'dense_ranks_too_large'],
} as const;

const changeMemberRoute = {
  ...memberRoute,
  method: 'patch',
  summary: 'Hide or show a member, or set its metadata',
  query: z.strictObject({}),
  body: { description: 'Changes.', content: { [JSON_TYPE]: { schema: memberChange } } },
  answers: { 204: { description: 'It is so.' } },
  errors: [...WRITE_ERRORS, 'member_not_found'],
} as const;

const deleteMemberRoute = {
  ...memberRoute,
  method: 'delete',
  summary: 'Take a member out of all views',
  query: z.strictObject({}),
  answers: { 204: { description: 'It is gone.' } },
  errors: [...READ_ERRORS, 'member_not_found', 'outcome_unknown'],
} as const;

const aroundRoute = {
  ...memberRoute,
  path: '/v1/boards/{board}/members/{member}/around',
  summary: 'The rows around a member; the window slides at the ends',
  query: z.strictObject(AROUND_QUERY),
  answers: { 200: { description: 'The rows.', schema: pageAnswer } },
} as const;

const ranksRoute = {
  ...base,
  method: 'post',
  path: '/v1/boards/{board}/ranks',
  summary: 'Ranks of many members, and their order among themselves',
  query: z.strictObject(SEASON_QUERY),
  body: { description: 'Who.', content: { [JSON_TYPE]: { schema: ranksBody } } },
  answers: { 200: { description: 'In the order asked for.', schema: ranksAnswer } },
  errors: [...READ_ERRORS, ...BODY_ERRORS, 'dense_ranks_too_large'],
} as const;

const statsRoute = {
  ...base,
  path: '/v1/boards/{board}/stats',
  summary: 'Members, sum, least and largest score, histogram',
  query: z.strictObject(STATS_QUERY),
  answers: { 200: { description: 'The statistics.', schema: statsAnswer } },
} as const;

export interface BoardRoutesOptions {
  readonly boards: Boards;
  readonly cache: AnswerCache;
  readonly bodies: BodyReader;
  readonly metrics: ApiMetrics;
}

export function boardEndpoints(options: BoardRoutesOptions): Endpoint[] {
  return [...settingsEndpoints(options), ...scoreEndpoints(options), ...readEndpoints(options)];
}

function settingsEndpoints({ boards, bodies }: BoardRoutesOptions): Endpoint[] {
  return [
    endpoint(listRoute, async ({ query: { after = null, limit } }, _request, response) => {
      sendJson(response, 200, presentBoards(await boards.list({ after, limit })));
    }),
    endpoint(infoRoute, async ({ path: { board } }, _request, response) => {
      sendJson(response, 200, presentBoard(await boards.describe(board)));
    }),
    endpoint(putRoute, async ({ path: { board } }, request, response) => {
      const body = await readJson(request, bodies, boardSettings, 'an object of settings');
      const { isNew, description } = await boards.put(board, settingsOf(body));
      sendJson(response, isNew ? 201 : 200, presentBoard(description));
    }),
    endpoint(deleteRoute, async ({ path: { board } }, _request, response) => {
      await boards.remove(board);
      response.status(204).end();
    }),
    endpoint(shardsRoute, async ({ path: { board } }, request, response) => {
      const { shards } = await readJson(request, bodies, shardsBody, '{"shards": ...}');
      sendJson(response, 202, presentBoard(await boards.setShards(board, shards)));
    }),
  ];
}

function scoreEndpoints({ boards, bodies, metrics }: BoardRoutesOptions): Endpoint[] {
  return [
    endpoint(scoresRoute, async ({ path: { board }, query }, request, response) => {
      mediaTypeOf(request, [JSON_TYPE]);
      const key = idempotencyKeyOf(request);
      await bodies.withBody(request, async (body) => {
        const entries = entriesOf(parseJson(decodeUtf8(body)));
        const batchKey = key === null ? null : { key, fingerprint: fingerprintOf(body) };
        const answer = await boards.post(board, { entries, key: batchKey, withRanks: query.ranks });
        metrics.countScores(answer.results);
        sendJson(response, 200, presentScores(answer));
      });
    }),
    endpoint(changeMemberRoute, async ({ path: { board, member } }, request, response) => {
      const body = await readJson(request, bodies, memberChange, '{"hidden": ..., "meta": ...}');
      const { hidden, meta } = body;
      const text = meta === undefined || meta === null ? meta : JSON.stringify(meta);
      await boards.changeMember(board, member, { isHidden: hidden, meta: text });
      response.status(204).end();
    }),
    endpoint(deleteMemberRoute, async ({ path: { board, member } }, _request, response) => {
      await boards.removeMember(board, member);
      response.status(204).end();
    }),
  ];
}

function readEndpoints({ boards, bodies, cache }: BoardRoutesOptions): Endpoint[] {
  return [
    endpoint(topRoute, async ({ path: { board }, query }, _request, response) => {
      const { self, fresh, cursor = null, ...page } = query;
      const asked = { ...page, cursor, season: page.season ?? null };
      const read = async () => presentPage(await boards.page(board, asked));
      if (fresh || cursor !== null) sendPage(response, self, JSON.stringify(await read()));
      else sendPage(response, self, await cachedPage(boards, cache, board, asked, read));
    }),
    endpoint(memberRoute, async ({ path: { board, member }, query }, _request, response) => {
      const asked = { view: query.view, season: query.season ?? null };
      sendJson(response, 200, presentMember(await boards.member(board, member, asked)));
    }),
    endpoint(aroundRoute, async ({ path: { board, member }, query }, _request, response) => {
      const asked = { ...query, season: query.season ?? null };
      const page = presentPage(await boards.around(board, member, asked));
      sendPage(response, member, JSON.stringify(page));
    }),
    endpoint(ranksRoute, async ({ path: { board }, query }, request, response) => {
      const { members } = await readJson(request, bodies, ranksBody, '{"members": [...]}');
      const asked = { view: query.view, season: query.season ?? null };
      sendJson(response, 200, presentRanks(await boards.ranks(board, members, asked)));
    }),
    endpoint(statsRoute, async ({ path: { board }, query }, _request, response) => {
      const asked = { ...query, season: query.season ?? null };
      sendJson(response, 200, presentStats(await boards.stats(board, asked)));
    }),
  ];
}

async function cachedPage(
  boards: Boards,
  cache: AnswerCache,
  board: string,
  asked: PageAsked,
  read: () => Promise<object>,
): Promise<string | Buffer> {
  // A board that is deleted and made again, or set otherwise, makes it another question.
  const key = JSON.stringify(['board', board, await boards.version(board), asked]);
  return await cache.get({ streams: [], key }, read);
}

/** The same page for everybody; who looks at it is marked last. */
function sendPage(response: Response, self: string | undefined, page: string | Buffer): void {
  if (self === undefined) {
    sendBytes(response, 200, JSON_TYPE, Buffer.isBuffer(page) ? page : Buffer.from(page));
    return;
  }
  const { entries, ...rest } = JSON.parse(String(page)) as z.output<typeof pageAnswer>;
  const marked = entries.map((row) => (row.member === self ? { ...row, self: true } : row));
  sendJson(response, 200, { ...rest, entries: marked });
}

/** One, a list, or `{"increments": [...]}`. Throws ApiError with the index of the first fault. */
function entriesOf(body: unknown): readonly ScoreEntry[] {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  const isNamed = isObject && 'increments' in body;
  if (isNamed && Object.keys(body).length > 1) {
    throw new ApiError('invalid_body', 'beside increments nothing is expected');
  }
  const list = isNamed ? body.increments : isObject ? [body] : body;
  if (arePlainEntries(list)) return list;
  const result = scoreEntries.safeParse(list);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  const [index, ...field] = path;
  if (typeof index !== 'number') {
    throw new ApiError('invalid_body', `expected an increment, or a list of them: ${message}`);
  }
  const parameter = field.join('.');
  throw new ApiError('invalid_body', `${parameter === '' ? 'increment' : parameter}: ${message}`, {
    index,
    ...(parameter === '' ? {} : { parameter }),
  });
}

function fingerprintOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, FINGERPRINT_CHARACTERS);
}
