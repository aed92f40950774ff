/**
 * The small records beside the blobs, as they lie in Redis. The scripts know the heads too: keep
 * them in step.
 */
import { assert } from '../../lib/assert.ts';
import type { Tag } from '../../lib/random-tag.ts';
import { LEVELS } from '../../streams/buckets.ts';
import type { StoredDocument } from '../../lib/document-store.ts';
import {
  type AppendRequest,
  FIRST_GENERATION,
  type Generation,
  type PartRef,
  type StoredColumn,
} from '../../streams/store-port.ts';

const TAG_LENGTH = 16;
/** Tag and generation, 16 characters each. */
const SUMMARY_HEAD_LENGTH = 2 * TAG_LENGTH;

/** `append.lua` compares heads: attempt (8 bytes), fingerprint's length (1 byte), fingerprint. */
export function encodeIdHead(request: AppendRequest): Buffer {
  const attempt = Buffer.from(request.attempt, 'hex');
  const fingerprint = Buffer.from(request.fingerprint, 'hex');
  assert(attempt.length * 2 === TAG_LENGTH, 'an attempt is a tag');
  assert(fingerprint.length * 2 === request.fingerprint.length, 'a fingerprint is in hex');
  return Buffer.concat([attempt, Buffer.from([fingerprint.length]), fingerprint]);
}

export function encodeColumn(tag: Tag, generation: Generation, blob: Uint8Array): Buffer {
  assert(tag.length === TAG_LENGTH, 'a tag has 16 characters');
  return Buffer.concat([Buffer.from(tag + padGeneration(generation)), blob]);
}

/** Null where there is none, or it belongs to another generation or is not readable. */
export function decodeColumn(value: Buffer | null, generation: Generation): StoredColumn | null {
  if (value === null) {
    return null;
  }
  const tag = summaryTagOf(value.toString('latin1', 0, SUMMARY_HEAD_LENGTH), generation);
  return tag === null || tag === 'broken'
    ? null
    : { tag, blob: value.subarray(SUMMARY_HEAD_LENGTH) };
}

/** The tag in a summary's first 32 bytes; null when it is of another generation or absent. */
export function summaryTagOf(head: string, generation: Generation): Tag | null | 'broken' {
  if (head === '') {
    return null;
  }
  if (head.length < SUMMARY_HEAD_LENGTH) {
    return 'broken';
  }
  return head.slice(TAG_LENGTH) === padGeneration(generation) ? head.slice(0, TAG_LENGTH) : null;
}

/** A document of the registry: its tag (16 characters), then its text; null where there is none. */
export function decodeDocument(value: string | null): StoredDocument | null {
  if (value === null) return null;
  return { tag: value.slice(0, TAG_LENGTH), text: value.slice(TAG_LENGTH) };
}

/** `<level>:<startMs>:<bytes>:<foldedAtMs>` */
export function encodePartLine(part: PartRef): string {
  return `${part.bucket.level}:${part.bucket.startMs}:${part.bytes}:${part.foldedAtMs}`;
}

/** Null when the line is damaged. */
export function decodePartLine(tag: Tag, line: string): PartRef | null {
  const [levelText, ...numbers] = line.split(':');
  const level = LEVELS.find((candidate) => candidate === levelText);
  const [startMs, bytes, foldedAtMs] = numbers.map(Number);
  if (
    level === undefined ||
    !Number.isSafeInteger(startMs) ||
    !Number.isSafeInteger(bytes) ||
    !Number.isSafeInteger(foldedAtMs)
  ) {
    return null;
  }
  return {
    tag,
    bucket: { level, startMs: startMs as number },
    bytes: bytes as number,
    foldedAtMs: foldedAtMs as number,
  };
}

function padGeneration(generation: Generation): string {
  assert(
    generation === FIRST_GENERATION || generation.length === TAG_LENGTH,
    'a generation is the first one or a tag',
  );
  return generation.padStart(TAG_LENGTH, '0');
}
