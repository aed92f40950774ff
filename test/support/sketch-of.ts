import type { KeyedHash } from '../../src/sketches/hash.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';

/** A sketch of these ids under this hash. */
export function sketchOf(ids: Iterable<string>, hash: KeyedHash): HyperLogLog {
  const sketch = new HyperLogLog();
  for (const id of ids) {
    hash.hashString(id);
    sketch.addHash(hash.lo, hash.hi);
  }
  return sketch;
}

/** `prefix` followed by from, from + 1, ... to - 1. */
export function* numbered(prefix: string, from: number, to: number): Generator<string> {
  for (let number = from; number < to; number += 1) yield `${prefix}${number}`;
}

/** The registers as one string, which compares much faster than an array of 16,384 numbers. */
export function registersHex(sketch: { readonly registers: ArrayLike<number> }): string {
  return Buffer.from(Uint8Array.from(sketch.registers)).toString('hex');
}

export function encodedHex(sketch: HyperLogLog): string {
  return Buffer.from(sketch.encode()).toString('hex');
}
