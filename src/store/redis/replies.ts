/** Between this program's values and what Redis takes and gives. */
import { StoreUnavailableError } from '../../lib/store-errors.ts';

/** The same bytes, not copied; ioredis takes no other kind of Uint8Array. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function arrayOf(reply: unknown, what: string): unknown[] {
  if (!Array.isArray(reply)) {
    throw unexpectedReply(what, reply);
  }
  return reply;
}

export function textOf(reply: unknown): string {
  return Buffer.isBuffer(reply) ? reply.toString() : '';
}

/** What Redis gives for a hash: fields and values in turn. */
export function pairsOf(reply: readonly unknown[]): [unknown, unknown][] {
  return Array.from({ length: reply.length / 2 }, (_, i) => [reply[2 * i], reply[2 * i + 1]]);
}

/** A reply with an error; anything else that goes wrong leaves open what the server did. */
export function isErrorReply(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** True for the reply itself and for the message of what was made of it. */
export function isWrongType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('WRONGTYPE');
}

export function unexpectedReply(what: string, reply: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`Redis gave an unexpected reply to ${what}: ${String(reply)}`);
}
