/** `POST /v1/events`: events in. */
import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { z } from 'zod';
import { ApiError, type EventRejection, type EventRejectionCode } from '../errors.ts';
import type { AcceptedBatch, EventIngest } from '../streams/ingest.ts';
import {
  IngestRefusedError,
  type Rejection,
  StrictRefusedError,
} from '../streams/ingest-errors.ts';
import { eventsAnswer } from './answer-schemas.ts';
import { type BodyReader, decodeUtf8, mediaTypeOf } from './body-reader.ts';
import { eventSchema, jsonBatchSchema, parseEventBatch } from './event-batch.ts';
import { scanEvents } from './event-scanner.ts';
import type { ApiMetrics } from './metrics.ts';
import { idempotencyHeader, idempotencyKeyOf } from './idempotency-key.ts';
import { type Endpoint, endpoint } from './route.ts';
import { sendJson } from './send-json.ts';

/** A key stands for a request to this endpoint only. */
const KEY_SCOPE = 'events';

const eventsRoute = {
  method: 'post',
  path: '/v1/events',
  summary: 'Send events',
  description:
    'Answers 202 once the events are in the store. Bad events are listed and the others go on, ' +
    'unless `strict=true`.',
  tag: 'Events',
  pathParameters: z.strictObject({}),
  query: z.strictObject({
    strict: z
      .enum(['true', 'false'], 'expected true or false')
      .optional()
      .meta({ description: 'All or nothing: one bad event refuses the request.' }),
  }),
  headers: z.object({
    ...idempotencyHeader,
    'Content-Encoding': z.string().optional().meta({ description: '`gzip` or absent.' }),
  }),
  body: {
    description: 'A list of events, `{"events": [...]}`, one event, or one event per line.',
    content: {
      'application/json': { schema: jsonBatchSchema },
      'application/x-ndjson': { schema: eventSchema },
    },
  },
  answers: { 202: { description: 'The events are in the store.', schema: eventsAnswer } },
  errors: [
    'unknown_parameter',
    'repeated_parameter',
    'invalid_parameter',
    'invalid_header',
    'invalid_json',
    'invalid_utf8',
    'invalid_gzip',
    'invalid_body',
    'strict_rejected',
    'body_too_large',
    'too_many_events',
    'unsupported_media_type',
    'unsupported_encoding',
    'key_reused',
    'backlog_full',
    'ids_full',
    'outcome_unknown',
    'store_unavailable',
    'overloaded',
  ],
} as const;

export interface EventsRouteOptions {
  readonly ingest: EventIngest;
  readonly bodies: BodyReader;
  readonly metrics: ApiMetrics;
  readonly maxEventsPerRequest: number;
}

export function eventsEndpoint(options: EventsRouteOptions): Endpoint {
  const { ingest, bodies, metrics, maxEventsPerRequest } = options;
  return endpoint(eventsRoute, async ({ query }, request, response) => {
    const mediaType = mediaTypeOf(request, ['application/json', 'application/x-ndjson']);
    const key = idempotencyKeyOf(request);
    await bodies.withBody(request, async (body) => {
      const { events, rejections } =
        scanEvents(body, mediaType, maxEventsPerRequest) ??
        parseEventBatch(decodeUtf8(body), mediaType, maxEventsPerRequest);
      const batch = {
        events,
        rejected: rejections,
        idempotency:
          key === null ? null : { id: digest(`${KEY_SCOPE}\0${key}`), fingerprint: digest(body) },
        strict: query.strict === 'true',
      };
      const result = await ingest.accept(batch).catch((error: unknown) => {
        throw toApiError(error, rejections);
      });
      metrics.countEvents(result);
      answer(response, result, rejections);
    });
  });
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function answer(
  response: Response,
  { accepted, duplicate, ...rejection }: AcceptedBatch,
  known: readonly EventRejection[],
): void {
  const body: z.input<typeof eventsAnswer> = {
    accepted,
    rejected: rejection.rejectedCount,
    duplicate,
    errors: listed(rejection, known),
  };
  sendJson(response, 202, body);
}

/** The texts of the faults found here, which a retry of the same body has again, and the others. */
function listed({ rejected }: Rejection, known: readonly EventRejection[]): EventRejection[] {
  const messages = new Map(known.map(({ index, message }) => [index, message]));
  return rejected.map(({ index, code }) => ({
    index,
    code: code as EventRejectionCode,
    message: messages.get(index) ?? INGEST_MESSAGES[code] ?? code,
  }));
}

const INGEST_MESSAGES: Readonly<Record<string, string>> = {
  too_old: 'at: older than everything that is still kept',
  too_new: 'at: too far in the future',
  too_many_streams: 'stream: there is no room for one more',
  stream_damaged: 'stream: what is set for it cannot be read',
};

function toApiError(error: unknown, known: readonly EventRejection[]): unknown {
  if (error instanceof IngestRefusedError)
    return new ApiError(error.refusal, REFUSALS[error.refusal]);
  if (!(error instanceof StrictRefusedError)) return error;
  const { rejectedCount, rejected } = error.rejection;
  return new ApiError(
    'strict_rejected',
    `the request was strict; rejected events: ${rejectedCount}`,
    {
      index: rejected[0]?.index ?? 0,
      rejected: rejectedCount,
      errors: listed(error.rejection, known),
    },
  );
}

const REFUSALS = {
  backlog_full: 'the workers are behind: nothing was applied',
  ids_full: 'too many keys are remembered: nothing was applied',
  key_reused: 'the Idempotency-Key came with another body before',
} as const;
