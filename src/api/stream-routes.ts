/** Streams themselves: which there are, what is set for one, and how one is dropped. */
import { z } from 'zod';
import type { StreamQueries } from '../streams/queries.ts';
import type { StreamRegistry } from '../streams/registry.ts';
import type { AnswerCache } from './answer-cache.ts';
import type { BodyReader } from './body-reader.ts';
import { BODY_ERRORS, readJson } from './json-body.ts';
import { queryShape, wholeNumber } from './parameters.ts';
import { type Endpoint, endpoint } from './route.ts';
import { JSON_TYPE, sendJson } from './send-json.ts';
import { presentStream, presentStreamList } from './stream-presenters.ts';
import { settingsBody, streamInfo, streamList } from './stream-schemas.ts';
import { pathStream, streamName } from './text-schemas.ts';

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
    ...queryShape({
      limit: wholeNumber(1, LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT, 'How many to list.'),
    }),
  }),
  answers: { 200: { description: 'A page of streams.', schema: streamList } },
  errors: ['unknown_parameter', 'repeated_parameter', 'invalid_parameter', 'store_unavailable'],
} as const;

const infoRoute = {
  method: 'get',
  path: '/v1/streams/{stream}',
  summary: 'One stream, its generation and its settings; one never written is empty, not missing',
  tag: 'Streams',
  pathParameters: streamPath,
  query: z.strictObject({}),
  answers: { 200: { description: 'The stream.', schema: streamInfo } },
  errors: ['invalid_path', 'unknown_parameter', 'stream_damaged', 'store_unavailable'],
} as const;

const settingsRoute = {
  ...infoRoute,
  method: 'put',
  summary: 'Replace the settings of a stream',
  description:
    'What is left out takes the default. The segments of a dimension that is taken away are ' +
    'dropped. The retention of a stream with events may only shrink.',
  body: { description: 'The settings.', content: { [JSON_TYPE]: { schema: settingsBody } } },
  answers: { 200: { description: 'They hold.', schema: streamInfo } },
  errors: [
    ...infoRoute.errors,
    ...BODY_ERRORS,
    'invalid_settings',
    'retention_grows',
    'too_many_streams',
    'outcome_unknown',
  ],
} as const;

const deleteRoute = {
  ...infoRoute,
  method: 'delete',
  summary: 'Drop all that was acknowledged for a stream so far, and its settings and lists',
  answers: { 204: { description: 'It is gone. What comes after starts anew.' } },
} as const;

export interface StreamRoutesOptions {
  readonly queries: StreamQueries;
  readonly registry: StreamRegistry;
  readonly cache: AnswerCache;
  readonly bodies: BodyReader;
}

export function streamEndpoints(options: StreamRoutesOptions): Endpoint[] {
  const { queries, registry, cache, bodies } = options;
  return [
    endpoint(listRoute, async ({ query }, _request, response) => {
      const list = await queries.list(query.after ?? null, query.limit);
      sendJson(response, 200, presentStreamList(list));
    }),
    endpoint(infoRoute, async ({ path: { stream } }, _request, response) => {
      const profile = await registry.of(stream);
      const generation = await queries.generation(stream);
      sendJson(response, 200, presentStream(stream, generation, profile));
    }),
    endpoint(settingsRoute, async ({ path: { stream } }, request, response) => {
      const settings = await readJson(request, bodies, settingsBody, 'an object of settings');
      const profile = await registry.changeSettings(stream, settings);
      const generation = await queries.generation(stream);
      sendJson(response, 200, presentStream(stream, generation, profile));
    }),
    endpoint(deleteRoute, async ({ path: { stream } }, _request, response) => {
      // An answer that is being read now may still hold what was dropped, also when dropping it
      // failed halfway.
      try {
        await registry.delete(stream);
      } finally {
        cache.drop(stream);
      }
      response.status(204).end();
    }),
  ];
}
