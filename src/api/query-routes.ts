/** Questions about a stream's window: top, trending and distinct, and several at once. */
import type { Response } from 'express';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import { QUESTIONS_MAX } from '../streams/limits.ts';
import type { StreamQueries } from '../streams/queries.ts';
import { QuestionRefusedError, type TopQuestion } from '../streams/questions/question.ts';
import { WindowError } from '../streams/window.ts';
import {
  distinctAnswer,
  distinctByAnswer,
  queryAnswer,
  topAnswer,
  trendingAnswer,
} from './answer-schemas.ts';
import { type Answering, sendAnswer } from './answering.ts';
import type { BodyReader } from './body-reader.ts';
import { BODY_ERRORS, readJson } from './json-body.ts';
import { queryShape } from './parameters.ts';
import {
  presentDistinct,
  presentDistinctBy,
  presentResults,
  presentTop,
  presentTrending,
} from './presenters.ts';
import {
  DISTINCT_PARAMETERS,
  distinctByQuestion,
  distinctQuestion,
  questionInput,
  questionOf,
  TOP_PARAMETERS,
  topQuestion,
  TRENDING_PARAMETERS,
  trendingQuestion,
} from './questions.ts';
import { firstIssue, quotable } from './request-input.ts';
import { type Endpoint, endpoint } from './route.ts';
import { JSON_TYPE, sendJson } from './send-json.ts';
import { pathStream, streamName } from './text-schemas.ts';

const streamPath = z.strictObject({ stream: pathStream });

/** What any question may be refused with. */
export const QUERY_ERRORS = [
  'invalid_path',
  'unknown_parameter',
  'repeated_parameter',
  'invalid_parameter',
  'unknown_dimension',
  'stream_damaged',
  'store_unavailable',
] as const;

export const queryRoute = { method: 'get', tag: 'Queries', errors: QUERY_ERRORS } as const;

const topRoute = {
  ...queryRoute,
  path: '/v1/streams/{stream}/top',
  summary: 'What is on top',
  pathParameters: streamPath,
  query: z.strictObject(queryShape(TOP_PARAMETERS)),
  answers: { 200: { description: 'The items with the largest counts.', schema: topAnswer } },
} as const;

const shortTopRoute = {
  ...topRoute,
  path: '/top',
  summary: 'What is on top of the default stream',
  pathParameters: z.strictObject({}),
  query: z.strictObject({
    ...queryShape(TOP_PARAMETERS),
    stream: streamName.default('default'),
  }),
} as const;

const trendingRoute = {
  ...queryRoute,
  path: '/v1/streams/{stream}/trending',
  summary: 'What is unusually frequent',
  description:
    'Compares the window with the same clock time on earlier days. An item trends when it ' +
    'certainly occurs more often than is usual.',
  pathParameters: streamPath,
  query: z.strictObject(queryShape(TRENDING_PARAMETERS)),
  answers: { 200: { description: 'What trends, and why.', schema: trendingAnswer } },
} as const;

const distinctRoute = {
  ...queryRoute,
  path: '/v1/streams/{stream}/distinct',
  summary: 'How many different actors',
  pathParameters: streamPath,
  query: z.strictObject(queryShape(DISTINCT_PARAMETERS)),
  answers: {
    200: {
      description: 'The number of different actors; with `by` also for each value.',
      schema: z.union([distinctAnswer, distinctByAnswer]),
    },
  },
} as const;

/** Each question is checked by itself afterwards, so that a fault is told with its index. */
const queriesBody = z.strictObject({
  queries: z
    .array(z.unknown(), 'expected a list of questions')
    .min(1, 'must not be empty')
    .max(QUESTIONS_MAX, `must not hold more than ${QUESTIONS_MAX} questions`),
});
const queriesSchema = z
  .strictObject({ queries: z.array(questionInput).min(1).max(QUESTIONS_MAX) })
  .meta({ id: 'QueryRequest' });

const batchRoute = {
  ...queryRoute,
  method: 'post',
  path: '/v1/query',
  summary: `Up to ${QUESTIONS_MAX} questions, those about one stream answered as of one moment`,
  description:
    'One question that is refused refuses the request: `index` is its place. Answers are read ' +
    'anew, not taken from the cache.',
  pathParameters: z.strictObject({}),
  query: z.strictObject({}),
  body: { description: 'The questions.', content: { [JSON_TYPE]: { schema: queriesSchema } } },
  answers: { 200: { description: 'The answers in their order.', schema: queryAnswer } },
  errors: [...QUERY_ERRORS.filter((code) => code !== 'invalid_path'), ...BODY_ERRORS],
} as const;

export interface QueryRoutesOptions extends Answering {
  readonly queries: StreamQueries;
  readonly bodies: BodyReader;
  readonly clock: Clock;
}

export function queryEndpoints(options: QueryRoutesOptions): Endpoint[] {
  return [...rankingEndpoints(options), distinctEndpoint(options), batchEndpoint(options)];
}

function rankingEndpoints(options: QueryRoutesOptions): Endpoint[] {
  const { queries } = options;
  const answerTop = (question: TopQuestion, response: Response): Promise<void> =>
    sendAnswer(response, options, { kind: 'top', streams: [question.stream], question }, async () =>
      presentTop(await queries.top(question)),
    );
  return [
    endpoint(topRoute, ({ path: { stream }, query }, _request, response) =>
      answerTop(topQuestion(stream, query), response),
    ),
    endpoint(shortTopRoute, ({ query }, _request, response) =>
      answerTop(topQuestion(query.stream, query), response),
    ),
    endpoint(trendingRoute, ({ path: { stream }, query }, _request, response) => {
      const question = trendingQuestion(stream, query);
      const asked = { kind: 'trending', streams: [stream], question };
      return sendAnswer(response, options, asked, async () =>
        presentTrending(await queries.trending(question)),
      );
    }),
  ];
}

function distinctEndpoint(options: QueryRoutesOptions): Endpoint {
  const { queries } = options;
  return endpoint(distinctRoute, ({ path: { stream }, query }, _request, response) => {
    const { by, ...asked } = query;
    if (by === undefined) {
      const question = distinctQuestion(stream, asked);
      return sendAnswer(
        response,
        options,
        { kind: 'distinct', streams: [stream], question },
        async () => presentDistinct(await queries.distinct(question)),
      );
    }
    const question = distinctByQuestion(stream, by, asked);
    return sendAnswer(
      response,
      options,
      { kind: 'distinct_by', streams: [stream], question },
      async () => presentDistinctBy(await queries.distinctBy(question)),
    );
  });
}

function batchEndpoint({ queries, bodies, clock }: QueryRoutesOptions): Endpoint {
  return endpoint(batchRoute, async (_input, request, response) => {
    const asked = await readJson(request, bodies, queriesBody, '{"queries": [...]}');
    const nowMs = clock.nowMs();
    const questions = asked.queries.map((value, index) =>
      withIndex(index, () => questionOf(parseQuestion(value), nowMs)),
    );
    sendJson(response, 200, presentResults(await queries.answerAll(questions)));
  });
}

/** @throws ApiError unknown_parameter or invalid_parameter */
function parseQuestion(value: unknown): z.output<typeof questionInput> {
  const result = questionInput.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    const parameter = quotable(issue.keys[0] ?? '');
    throw new ApiError('unknown_parameter', `there is no parameter ${parameter}`, { parameter });
  }
  const { parameter, message } = firstIssue(result.error);
  throw parameter === ''
    ? new ApiError('invalid_parameter', 'expected an object with a type')
    : new ApiError('invalid_parameter', `${parameter}: ${message}`, { parameter });
}

/** Says of a fault in which of several questions it is. */
function withIndex<Result>(index: number, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof WindowError) throw new QuestionRefusedError(index, error);
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { ...error.details, index });
  }
}
