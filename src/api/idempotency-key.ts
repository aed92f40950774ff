/** The header that makes a retry harmless. */
import type { Request } from 'express';
import { z } from 'zod';
import { ApiError } from '../errors.ts';

const KEY_BYTES_MAX = 512;

/** For the description of a route. */
export const idempotencyHeader = {
  'Idempotency-Key': z
    .string()
    .optional()
    .meta({ description: `1 to ${KEY_BYTES_MAX} bytes; makes a retry harmless for 24 h.` }),
} as const;

/** @throws ApiError invalid_header */
export function idempotencyKeyOf(request: Request): string | null {
  const keys = request.headersDistinct['idempotency-key'] ?? [];
  const [key] = keys;
  if (key === undefined) return null;
  // Node hands headers over with one character for each byte.
  if (keys.length > 1 || key === '' || key.length > KEY_BYTES_MAX) {
    throw new ApiError('invalid_header', `Idempotency-Key: expected 1 to ${KEY_BYTES_MAX} bytes`);
  }
  return key;
}
