/** Questions about items and about time: counts, distinct actors and series. */
import type { Response } from 'express';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import type { StreamQueries } from '../streams/queries.ts';
import type { SeriesQuestion } from '../streams/questions/question.ts';
import { itemAnswer, itemDistinctAnswer, itemsAnswer, seriesAnswer } from './answer-schemas.ts';
import { type Answering, sendAnswer } from './answering.ts';
import type { BodyReader } from './body-reader.ts';
import { BODY_ERRORS, readJson } from './json-body.ts';
import { queryShape } from './parameters.ts';
import { presentItem, presentItemDistinct, presentItems, presentSeries } from './presenters.ts';
import { QUERY_ERRORS, queryRoute } from './query-routes.ts';
import {
  ITEM_PARAMETERS,
  ITEMS_PER_CALL_MAX,
  itemDistinctQuestion,
  itemList,
  itemsQuestion,
  SERIES_PARAMETERS,
  seriesQuestion,
} from './questions.ts';
import { type Endpoint, endpoint } from './route.ts';
import { JSON_TYPE, sendJson } from './send-json.ts';
import { pathItem, pathStream } from './text-schemas.ts';

const streamPath = z.strictObject({ stream: pathStream });
const itemPath = z.strictObject({ stream: pathStream, item: pathItem });
const itemQuery = z.strictObject(queryShape(ITEM_PARAMETERS));
const itemsBody = z.strictObject({ items: itemList }).meta({ id: 'ItemCountsRequest' });

const itemRoute = {
  ...queryRoute,
  path: '/v1/streams/{stream}/items/{item}',
  summary: 'How often one item',
  pathParameters: itemPath,
  query: itemQuery,
  answers: { 200: { description: 'Its count, with bounds.', schema: itemAnswer } },
} as const;

const itemDistinctRoute = {
  ...itemRoute,
  path: '/v1/streams/{stream}/items/{item}/distinct',
  summary: 'How many different actors one item had',
  answers: {
    200: { description: 'The number of different actors.', schema: itemDistinctAnswer },
  },
} as const;

const itemsRoute = {
  ...queryRoute,
  method: 'post',
  path: '/v1/streams/{stream}/items/counts',
  summary: `How often each of up to ${ITEMS_PER_CALL_MAX} items`,
  pathParameters: streamPath,
  query: itemQuery,
  body: { description: 'The items.', content: { [JSON_TYPE]: { schema: itemsBody } } },
  answers: { 200: { description: 'Their counts in the same order.', schema: itemsAnswer } },
  errors: [...QUERY_ERRORS, ...BODY_ERRORS],
} as const;

const streamSeriesRoute = {
  ...queryRoute,
  path: '/v1/streams/{stream}/series',
  summary: 'Events and different actors over time',
  pathParameters: streamPath,
  query: z.strictObject(queryShape(SERIES_PARAMETERS)),
  answers: { 200: { description: 'One point for each step.', schema: seriesAnswer } },
} as const;

const itemSeriesRoute = {
  ...streamSeriesRoute,
  path: '/v1/streams/{stream}/items/{item}/series',
  summary: 'One item over time',
  pathParameters: itemPath,
} as const;

export interface ItemRoutesOptions extends Answering {
  readonly queries: StreamQueries;
  readonly bodies: BodyReader;
  readonly clock: Clock;
}

export function itemEndpoints(options: ItemRoutesOptions): Endpoint[] {
  return [...countEndpoints(options), ...seriesEndpoints(options)];
}

function countEndpoints(options: ItemRoutesOptions): Endpoint[] {
  const { queries, bodies } = options;
  return [
    endpoint(itemRoute, ({ path: { stream, item }, query }, _request, response) => {
      const question = itemsQuestion(stream, [item], query);
      const asked = { kind: 'item', streams: [stream], question };
      return sendAnswer(response, options, asked, async () =>
        presentItem(await queries.items(question)),
      );
    }),
    endpoint(itemDistinctRoute, ({ path: { stream, item }, query }, _request, response) => {
      const question = itemDistinctQuestion(stream, item, query);
      const asked = { kind: 'item_distinct', streams: [stream], question };
      return sendAnswer(response, options, asked, async () =>
        presentItemDistinct(await queries.itemDistinct(question)),
      );
    }),
    endpoint(itemsRoute, async ({ path: { stream }, query }, request, response) => {
      // What the query says is checked before the body is read.
      const question = itemsQuestion(stream, [], query);
      const { items } = await readJson(request, bodies, itemsBody, '{"items": [...]}');
      sendJson(response, 200, presentItems(await queries.items({ ...question, items })));
    }),
  ];
}

function seriesEndpoints(options: ItemRoutesOptions): Endpoint[] {
  const { queries, clock } = options;
  const answerSeries = (question: SeriesQuestion, response: Response): Promise<void> => {
    const asked = { kind: 'series', streams: [question.stream], question };
    return sendAnswer(response, options, asked, async () =>
      presentSeries(await queries.series(question)),
    );
  };
  return [
    endpoint(streamSeriesRoute, ({ path: { stream }, query }, _request, response) =>
      answerSeries(seriesQuestion(stream, null, query, clock.nowMs()), response),
    ),
    endpoint(itemSeriesRoute, ({ path: { stream, item }, query }, _request, response) =>
      answerSeries(seriesQuestion(stream, item, query, clock.nowMs()), response),
    ),
  ];
}
