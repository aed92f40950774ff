/** Questions about a stream's window: top, distinct, items and series. */
import type { Request, Response } from 'express';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { HOUR_MS, MINUTE_MS } from '../streams/buckets.ts';
import { SERIES_POINTS_MAX } from '../streams/limits.ts';
import type { StreamQueries } from '../streams/queries.ts';
import type { WindowRequest } from '../streams/window.ts';
import type { AnswerCache } from './answer-cache.ts';
import {
  distinctAnswer,
  itemAnswer,
  itemsAnswer,
  seriesAnswer,
  topAnswer,
} from './answer-schemas.ts';
import { type BodyReader, decodeUtf8, mediaTypeOf, parseJson } from './body-reader.ts';
import {
  presentDistinct,
  presentItem,
  presentItems,
  presentSeries,
  presentTop,
} from './presenters.ts';
import { firstIssue } from './request-input.ts';
import { type Endpoint, endpoint } from './route.ts';
import { JSON_TYPE, sendBytes, sendJson } from './send-json.ts';
import {
  itemText,
  kParameter,
  pathItem,
  pathStream,
  streamName,
  untilParameter,
  windowParameter,
  windowText,
} from './text-schemas.ts';

const ITEMS_PER_CALL_MAX = 500;
/** Up to this length a series is cut into minutes by default, beyond it into hours. */
const MINUTE_SERIES_MS = 2 * HOUR_MS;

const windowQuery = { window: windowParameter, until: untilParameter };
const streamPath = z.strictObject({ stream: pathStream });
const itemPath = z.strictObject({ stream: pathStream, item: pathItem });
const seriesQuery = z.strictObject({
  ...windowQuery,
  step: windowText.optional().meta({
    description:
      'Length of a point: whole minutes, from 1h on whole hours; at most ' +
      `${SERIES_POINTS_MAX} points. Default \`1m\` for windows up to 2h, else \`1h\`.`,
    example: '1h',
  }),
});
const itemsBody = z
  .strictObject({
    items: z
      .array(itemText, 'expected a list of strings')
      .min(1, 'must not be empty')
      .max(ITEMS_PER_CALL_MAX, `must not hold more than ${ITEMS_PER_CALL_MAX} items`),
  })
  .meta({ id: 'ItemCountsRequest' });

const QUERY_ERRORS = [
  'invalid_path',
  'unknown_parameter',
  'repeated_parameter',
  'invalid_parameter',
  'store_unavailable',
] as const;

const shared = { method: 'get', tag: 'Queries', errors: QUERY_ERRORS } as const;

const topRoute = {
  ...shared,
  path: '/v1/streams/{stream}/top',
  summary: 'What is on top',
  pathParameters: streamPath,
  query: z.strictObject({ ...windowQuery, k: kParameter }),
  answers: { 200: { description: 'The items with the largest counts.', schema: topAnswer } },
} as const;

const shortTopRoute = {
  ...topRoute,
  path: '/top',
  summary: 'What is on top of the default stream',
  pathParameters: z.strictObject({}),
  query: z.strictObject({ ...windowQuery, k: kParameter, stream: streamName.default('default') }),
} as const;

const distinctRoute = {
  ...shared,
  path: '/v1/streams/{stream}/distinct',
  summary: 'How many different actors',
  pathParameters: streamPath,
  query: z.strictObject(windowQuery),
  answers: { 200: { description: 'The number of different actors.', schema: distinctAnswer } },
} as const;

const itemRoute = {
  ...shared,
  path: '/v1/streams/{stream}/items/{item}',
  summary: 'How often one item',
  pathParameters: itemPath,
  query: z.strictObject(windowQuery),
  answers: { 200: { description: 'Its count, with bounds.', schema: itemAnswer } },
} as const;

const itemsRoute = {
  ...shared,
  method: 'post',
  path: '/v1/streams/{stream}/items/counts',
  summary: `How often each of up to ${ITEMS_PER_CALL_MAX} items`,
  pathParameters: streamPath,
  query: z.strictObject(windowQuery),
  body: { description: 'The items.', content: { [JSON_TYPE]: { schema: itemsBody } } },
  answers: { 200: { description: 'Their counts in the same order.', schema: itemsAnswer } },
  errors: [
    ...QUERY_ERRORS,
    'invalid_json',
    'invalid_utf8',
    'invalid_gzip',
    'invalid_body',
    'body_too_large',
    'unsupported_media_type',
    'unsupported_encoding',
    'overloaded',
  ],
} as const;

const streamSeriesRoute = {
  ...shared,
  path: '/v1/streams/{stream}/series',
  summary: 'Events and different actors over time',
  pathParameters: streamPath,
  query: seriesQuery,
  answers: { 200: { description: 'One point for each step.', schema: seriesAnswer } },
} as const;

const itemSeriesRoute = {
  ...streamSeriesRoute,
  path: '/v1/streams/{stream}/items/{item}/series',
  summary: 'One item over time',
  pathParameters: itemPath,
} as const;

export interface QueryRoutesOptions {
  readonly queries: StreamQueries;
  readonly cache: AnswerCache;
  readonly bodies: BodyReader;
}

interface WindowParameters {
  readonly window: number;
  readonly until?: number | undefined;
}

export function queryEndpoints(options: QueryRoutesOptions): Endpoint[] {
  return [...topEndpoints(options), ...itemEndpoints(options), ...seriesEndpoints(options)];
}

function topEndpoints({ queries, cache }: QueryRoutesOptions): Endpoint[] {
  const answerTop = async (
    stream: string,
    query: WindowParameters & { readonly k: number },
    response: Response,
  ): Promise<void> => {
    const window = windowOf(query);
    const { k } = query;
    const key = keyOf('top', stream, window, k);
    const body = await cache.get({ stream, key }, async () =>
      presentTop(await queries.top({ stream, window, k })),
    );
    sendBytes(response, 200, JSON_TYPE, body);
  };
  return [
    endpoint(topRoute, ({ path, query }, _request, response) =>
      answerTop(path.stream, query, response),
    ),
    endpoint(shortTopRoute, ({ query }, _request, response) =>
      answerTop(query.stream, query, response),
    ),
    endpoint(distinctRoute, async ({ path: { stream }, query }, _request, response) => {
      const window = windowOf(query);
      const key = keyOf('distinct', stream, window);
      const body = await cache.get({ stream, key }, async () =>
        presentDistinct(await queries.distinct({ stream, window })),
      );
      sendBytes(response, 200, JSON_TYPE, body);
    }),
  ];
}

function itemEndpoints({ queries, cache, bodies }: QueryRoutesOptions): Endpoint[] {
  return [
    endpoint(itemRoute, async ({ path: { stream, item }, query }, _request, response) => {
      const window = windowOf(query);
      const key = keyOf('item', stream, window, item);
      const body = await cache.get({ stream, key }, async () => {
        const answer = await queries.items({ stream, window, items: [item] });
        return presentItem(answer);
      });
      sendBytes(response, 200, JSON_TYPE, body);
    }),
    endpoint(itemsRoute, async ({ path: { stream }, query }, request, response) => {
      const window = windowOf(query);
      const items = await readItems(request, bodies);
      sendJson(response, 200, presentItems(await queries.items({ stream, window, items })));
    }),
  ];
}

function seriesEndpoints({ queries, cache }: QueryRoutesOptions): Endpoint[] {
  const answerSeries = async (
    { stream, item }: { readonly stream: string; readonly item?: string },
    query: WindowParameters & { readonly step?: number | undefined },
    response: Response,
  ): Promise<void> => {
    const window = windowOf(query);
    const stepMs = stepOf(query.step, window.lengthMs);
    const key = keyOf('series', stream, window, stepMs, item ?? null);
    const body = await cache.get({ stream, key }, async () =>
      presentSeries(
        await queries.series({ stream, window, stepMs, ...(item === undefined ? {} : { item }) }),
      ),
    );
    sendBytes(response, 200, JSON_TYPE, body);
  };
  return [
    endpoint(streamSeriesRoute, ({ path, query }, _request, response) =>
      answerSeries(path, query, response),
    ),
    endpoint(itemSeriesRoute, ({ path, query }, _request, response) =>
      answerSeries(path, query, response),
    ),
  ];
}

function windowOf({ window, until }: WindowParameters): WindowRequest {
  return { lengthMs: window, untilMs: until ?? null };
}

/** @throws ApiError invalid_parameter */
function stepOf(asked: number | undefined, lengthMs: number): number {
  const stepMs = asked ?? (lengthMs <= MINUTE_SERIES_MS ? MINUTE_MS : HOUR_MS);
  const refuse = (message: string): never => {
    throw new ApiError('invalid_parameter', `step: ${message}`, { parameter: 'step' });
  };
  if (stepMs > HOUR_MS && stepMs % HOUR_MS !== 0) refuse('from 1h on, expected whole hours');
  if (stepMs > lengthMs) refuse('must not be longer than the window');
  return stepMs;
}

async function readItems(request: Request, bodies: BodyReader): Promise<string[]> {
  mediaTypeOf(request, [JSON_TYPE]);
  return bodies.withBody(request, async (body) => {
    const result = itemsBody.safeParse(parseJson(decodeUtf8(body)));
    if (result.success) return result.data.items;
    const { parameter, message } = firstIssue(result.error);
    throw parameter === ''
      ? new ApiError('invalid_body', `expected {"items": [...]}: ${message}`)
      : new ApiError('invalid_body', `${parameter}: ${message}`, { parameter });
  });
}

/** JSON, so that no choice of names makes two questions look the same. */
function keyOf(
  kind: string,
  stream: string,
  { lengthMs, untilMs }: WindowRequest,
  ...more: readonly (string | number | null)[]
): string {
  return JSON.stringify([kind, stream, lengthMs, untilMs, ...more]);
}
