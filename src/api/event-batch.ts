/**
 * From the text of a request to events: good ones with their index, bad ones with the reason.
 * A bad event never stops the others; only a body that is no list of events at all does.
 */
import { z } from 'zod';
import { ApiError, type EventRejection, type EventRejectionCode } from '../errors.ts';
import type { EventInput } from '../streams/ingest.ts';
import { DIMENSIONS_MAX } from '../streams/limits.ts';
import { type MediaType, parseJson } from './body-reader.ts';
import { firstIssue, quotable } from './request-input.ts';
import {
  actorText,
  dimensionText,
  dimensionValue,
  isoTime,
  itemText,
  streamName,
} from './text-schemas.ts';

export const COUNT_MAX = 1_000_000;
export const DEFAULT_STREAM = 'default';

const dimsSchema = z
  .record(dimensionText, dimensionValue, 'expected an object of texts')
  .refine(
    (dims) => Object.keys(dims).length <= DIMENSIONS_MAX,
    `must not name more than ${DIMENSIONS_MAX} dimensions`,
  )
  .meta({
    description:
      `Values by dimension, up to ${DIMENSIONS_MAX}. The event also counts in the segment of each ` +
      'dimension that the settings of its stream name; the others are ignored.',
    example: { country: 'IN', device: 'tv' },
  });

export const eventSchema = z
  .strictObject({
    item: itemText,
    stream: streamName.optional().meta({ description: 'Default `default`.' }),
    actor: actorText.optional(),
    count: z
      .int(`expected a whole number from 1 to ${COUNT_MAX}`)
      .min(1, 'must be at least 1')
      .max(COUNT_MAX, `must be at most ${COUNT_MAX}`)
      .optional()
      .meta({ description: 'How many times it happened. Default 1.' }),
    at: z
      .union([z.int(), isoTime], 'expected epoch milliseconds or an ISO 8601 time with offset')
      .optional()
      .meta({
        description:
          'When it happened: epoch milliseconds or ISO 8601 with offset. Default: its arrival.',
      }),
    dims: dimsSchema.optional(),
  })
  .meta({ id: 'Event', description: 'One thing that happened.' });

/** For the OpenAPI document; `parseEventBatch` tells the three shapes apart by itself. */
export const jsonBatchSchema = z
  .union([z.array(eventSchema), z.strictObject({ events: z.array(eventSchema) }), eventSchema])
  .meta({ id: 'EventBatch' });

export interface EventBatch {
  readonly events: EventInput[];
  /** In ascending order of `index`. */
  readonly rejections: EventRejection[];
}

/**
 * @throws ApiError invalid_json, invalid_body or too_many_events
 */
export function parseEventBatch(text: string, mediaType: MediaType, maxEvents: number): EventBatch {
  return mediaType === 'application/json'
    ? fromJson(parseJson(text), maxEvents)
    : fromLines(text, maxEvents);
}

function fromJson(body: unknown, maxEvents: number): EventBatch {
  const list = eventList(body);
  if (list.length > maxEvents) throw tooManyEvents(maxEvents);
  const batch: EventBatch = { events: [], rejections: [] };
  for (let index = 0; index < list.length; index += 1) addEvent(batch, index, list[index]);
  return batch;
}

function eventList(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  if (typeof body !== 'object' || body === null) {
    throw new ApiError('invalid_body', 'expected a list of events, {"events": [...]} or one event');
  }
  if (!Object.hasOwn(body, 'events')) return [body];
  const { events, ...others } = body as { events: unknown };
  if (!Array.isArray(events)) {
    throw new ApiError('invalid_body', 'events: expected a list', { parameter: 'events' });
  }
  if (Object.keys(others).length > 0) {
    throw new ApiError('invalid_body', 'there must be no field beside events');
  }
  return events;
}

/** Blank lines are skipped and take no index, so a newline at the end changes nothing. */
function fromLines(text: string, maxEvents: number): EventBatch {
  const batch: EventBatch = { events: [], rejections: [] };
  let index = 0;
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, end).trim();
    start = end + 1;
    if (line === '') continue;
    if (index === maxEvents) throw tooManyEvents(maxEvents);
    addLine(batch, index, line);
    index += 1;
  }
  return batch;
}

function addLine(batch: EventBatch, index: number, line: string): void {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    reject(batch, index, 'invalid_line', 'the line cannot be parsed as JSON');
    return;
  }
  addEvent(batch, index, value);
}

function addEvent(batch: EventBatch, index: number, value: unknown): void {
  const result = eventSchema.safeParse(value);
  if (!result.success) {
    rejectMalformed(batch, index, result.error);
    return;
  }
  const { item, stream, actor, count, at, dims } = result.data;
  batch.events.push({
    index,
    stream: stream ?? DEFAULT_STREAM,
    item,
    actor: actor ?? null,
    count: count ?? 1,
    atMs: typeof at === 'string' ? Date.parse(at) : (at ?? null),
    dims: dims ?? null,
  });
}

function rejectMalformed(batch: EventBatch, index: number, error: z.ZodError): void {
  const { parameter, message } = firstIssue(error);
  const [issue] = error.issues;
  if (issue?.code === 'unrecognized_keys') {
    reject(batch, index, 'unknown_field', quotable(`there is no field ${issue.keys.join(', ')}`));
  } else {
    const text = parameter === '' ? 'expected an object' : `${parameter}: ${message}`;
    reject(batch, index, 'invalid_event', text);
  }
}

function reject(batch: EventBatch, index: number, code: EventRejectionCode, message: string): void {
  batch.rejections.push({ index, code, message });
}

function tooManyEvents(maxEvents: number): ApiError {
  return new ApiError('too_many_events', `a request may hold ${maxEvents} events`);
}
