/** Streams themselves: which there are, and how one is dropped. */
import { z } from 'zod';
import type { StreamQueries } from '../streams/queries.ts';
import type { AnswerCache } from './answer-cache.ts';
import { streamInfo, streamList } from './answer-schemas.ts';
import { presentStreamList } from './presenters.ts';
import { type Endpoint, endpoint } from './route.ts';
import { sendJson } from './send-json.ts';
import { pathStream, streamName, wholeNumber } from './text-schemas.ts';

const LIST_LIMIT_MAX = 1000;
const LIST_LIMIT_DEFAULT = 100;
const streamPath = z.strictObject({ stream: pathStream });

const listRoute = {
  method: 'get',
  path: '/v1/streams',
  summary: 'Streams that have something to show, in the order of their names',
  tag: 'Streams',
  pathParameters: z.strictObject({}),
  query: z.strictObject({
    after: streamName.optional().meta({ description: 'Only names after this one.' }),
    limit: wholeNumber(1, LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT, 'How many to list.'),
  }),
  answers: { 200: { description: 'A page of streams.', schema: streamList } },
  errors: ['unknown_parameter', 'repeated_parameter', 'invalid_parameter', 'store_unavailable'],
} as const;

const infoRoute = {
  method: 'get',
  path: '/v1/streams/{stream}',
  summary: 'One stream and its generation; a stream that was never written is empty, not missing',
  tag: 'Streams',
  pathParameters: streamPath,
  query: z.strictObject({}),
  answers: { 200: { description: 'The stream.', schema: streamInfo } },
  errors: ['invalid_path', 'unknown_parameter', 'store_unavailable'],
} as const;

const deleteRoute = {
  ...infoRoute,
  method: 'delete',
  summary: 'Drop all that was acknowledged for a stream so far',
  answers: { 204: { description: 'It is gone. What comes after starts anew.' } },
} as const;

export interface StreamRoutesOptions {
  readonly queries: StreamQueries;
  readonly cache: AnswerCache;
}

export function streamEndpoints({ queries, cache }: StreamRoutesOptions): Endpoint[] {
  return [
    endpoint(listRoute, async ({ query }, _request, response) => {
      const list = await queries.list(query.after ?? null, query.limit);
      sendJson(response, 200, presentStreamList(list));
    }),
    endpoint(infoRoute, async ({ path: { stream } }, _request, response) => {
      sendJson(response, 200, { stream, generation: await queries.generation(stream) });
    }),
    endpoint(deleteRoute, async ({ path: { stream } }, _request, response) => {
      // An answer that is being read now may still hold what was dropped, also when dropping it
      // failed halfway.
      try {
        await queries.delete(stream);
      } finally {
        cache.drop(stream);
      }
      response.status(204).end();
    }),
  ];
}
