/** Bodies of JSON, checked by a schema before anything else happens. */
import type { Request } from 'express';
import type { z } from 'zod';
import { ApiError } from '../errors.ts';
import { type BodyReader, decodeUtf8, mediaTypeOf, parseJson } from './body-reader.ts';
import { firstIssue } from './request-input.ts';
import { JSON_TYPE } from './send-json.ts';

/** What a body of JSON may be refused with. */
export const BODY_ERRORS = [
  'invalid_json',
  'invalid_utf8',
  'invalid_gzip',
  'invalid_body',
  'body_too_large',
  'unsupported_media_type',
  'unsupported_encoding',
  'overloaded',
] as const;

/** `form` says in short what is expected as a whole. Throws ApiError with one of BODY_ERRORS. */
export function readJson<Schema extends z.ZodType>(
  request: Request,
  bodies: BodyReader,
  schema: Schema,
  form: string,
): Promise<z.output<Schema>> {
  mediaTypeOf(request, [JSON_TYPE]);
  return bodies.withBody(request, async (body) => {
    const result = schema.safeParse(parseJson(decodeUtf8(body)));
    if (result.success) return result.data;
    const { parameter, message } = firstIssue(result.error);
    throw parameter === ''
      ? new ApiError('invalid_body', `expected ${form}: ${message}`)
      : new ApiError('invalid_body', `${parameter}: ${message}`, { parameter });
  });
}
