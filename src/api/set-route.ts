/** `GET /v1/distinct`: how many different actors several streams have together. */
import { z } from 'zod';
import { SET_STREAMS_MAX } from '../streams/limits.ts';
import type { StreamQueries } from '../streams/queries.ts';
import type { SetQuestion } from '../streams/questions/question.ts';
import { SET_OPERATIONS, setAnswer } from './answer-schemas.ts';
import { type Answering, sendAnswer } from './answering.ts';
import { oneOf, queryShape } from './parameters.ts';
import { presentSet } from './presenters.ts';
import { queryRoute } from './query-routes.ts';
import { type Endpoint, endpoint } from './route.ts';
import { streamName } from './text-schemas.ts';
import { misfit, WHERE_PARAMETER, WINDOW_PARAMETERS, windowOf } from './window-parameters.ts';

/** Of an intersection and of a difference. */
const PAIR = 2;

/** Comma-separated; comma and percent inside a name are encoded once more. */
const streamsParameter = z
  .string('is required: two names or more, separated by commas')
  .transform((text, context) => {
    const elements = text.split(',');
    if (elements.length > SET_STREAMS_MAX) {
      context.addIssue(`must not name more than ${SET_STREAMS_MAX} streams`);
      return z.NEVER;
    }
    const names = elements.map(decoded);
    const fault = names
      .map((name) => streamName.safeParse(name).error?.issues[0]?.message)
      .find((message) => message !== undefined);
    if (fault !== undefined) context.addIssue(`each name: ${fault}`);
    if (new Set(names).size < names.length) context.addIssue('must not name a stream twice');
    return names.filter((name) => name !== null);
  })
  .meta({
    description:
      `Names of up to ${SET_STREAMS_MAX} streams, separated by commas; a comma or percent ` +
      'inside a name is percent-encoded once more.',
    example: 'web,app',
  });

const setRoute = {
  ...queryRoute,
  path: '/v1/distinct',
  summary: 'How many different actors several streams have together',
  pathParameters: z.strictObject({}),
  query: z.strictObject({
    ...queryShape({
      ...WINDOW_PARAMETERS,
      ...WHERE_PARAMETER,
      op: oneOf(
        SET_OPERATIONS,
        'union',
        'Actors of any, of both, or of the first and not of the second.',
      ),
    }),
    streams: streamsParameter,
  }),
  answers: { 200: { description: 'The number, with its error.', schema: setAnswer } },
  errors: queryRoute.errors.filter((code) => code !== 'invalid_path'),
} as const;

export interface SetRouteOptions extends Answering {
  readonly queries: StreamQueries;
}

export function setEndpoint(options: SetRouteOptions): Endpoint {
  return endpoint(setRoute, ({ query }, _request, response) => {
    const { streams, op, where = null, explain } = query;
    if (op !== 'union' && streams.length !== PAIR) {
      throw misfit('streams', `for ${op} expected exactly ${PAIR} streams`);
    }
    const question: SetQuestion = { streams, op, window: windowOf(query), where, explain };
    return sendAnswer(response, options, { kind: 'set', streams, question }, async () =>
      presentSet(await options.queries.distinctTogether(question)),
    );
  });
}

/** Null for what is not the percent-encoding of valid UTF-8. */
function decoded(element: string): string | null {
  try {
    return decodeURIComponent(element);
  } catch {
    return null;
  }
}
