import { randomBytes } from 'node:crypto';
import type { Prng } from './prng.ts';

/**
 * 16 lower-case hexadecimal characters (8 random bytes). It marks one written version of a
 * record, so that a writer can tell "still the one I read" from "another one under the same id",
 * which a failover can produce.
 */
export type Tag = string;
export type TagSource = () => Tag;

const TAG_BYTES = 8;

/** Random bytes are drawn for so many tags at once: a draw costs more than the bytes. */
const TAGS_PER_DRAW = 256;
let drawn = Buffer.alloc(0);

/** Tags nobody can guess and no two servers share: the source for production. */
export const cryptoTags: TagSource = () => {
  if (drawn.length === 0) drawn = randomBytes(TAGS_PER_DRAW * TAG_BYTES);
  const tag = drawn.toString('hex', 0, TAG_BYTES);
  drawn = drawn.subarray(TAG_BYTES);
  return tag;
};

/** Repeatable tags for simulations. */
export function seededTags(prng: Prng): TagSource {
  return () => hex32(prng.nextUint32()) + hex32(prng.nextUint32());
}

function hex32(word: number): string {
  return word.toString(16).padStart(8, '0');
}
