/*
 * What      64-bit keyed hash of a string or of bytes: HalfSipHash-2-4 with 64-bit output.
 * Paper     Aumasson, Bernstein, 2012, "SipHash: a fast short-input PRF"; HalfSipHash is the
 *           32-bit variant of the same authors (github.com/veorq/SipHash, whose 64 published
 *           vectors are in the tests). No deviations.
 * Params    key: 64 bits, one per deployment. Input: any number of bytes.
 * Guarantee Without the key nobody can find inputs that collide more often than chance, as far
 *           as is publicly known; so nobody outside can fill one counter cell, register or slot
 *           on purpose. Two given inputs collide with probability about 2^-64.
 * Memory    One scratch buffer that grows to the longest input seen; no allocation per call.
 * Cost      O(length): two rounds per 4 bytes and 8 at the end.
 * Merge     Structures can be merged only if their hashes were made with the same key: seedId
 *           identifies the key without revealing it.
 * Not       Not a cryptographic digest: a 64-bit key resists flooding, not a funded attacker.
 *           Lone surrogates have no UTF-8 form and all hash as U+FFFD: callers refuse them.
 */

import { assert } from '../lib/assert.ts';

const KEY_BYTES = 8;
const WORD_BYTES = 4;
/** A turn is two rounds: all of the compression of a word, half of a finalization. */
const TURNS_PER_OUTPUT_WORD = 2;

/** Constants of the HalfSipHash reference code; together they spell "lygetedb" in ASCII. */
const INITIAL_V2 = 0x6c796765;
const INITIAL_V3 = 0x74656462;
/** They tell the 64-bit output apart from the 32-bit one, and its second word from its first. */
const WIDE_OUTPUT_TAG = 0xee;
const SECOND_WORD_TAG = 0xdd;

/** UTF-8 needs at most 3 bytes for each UTF-16 code unit (a pair of surrogates takes 4). */
const UTF8_BYTES_PER_CODE_UNIT_MAX = 3;
const ASCII_MAX = 0x7f;
const SCRATCH_BYTES_INITIAL = 2048;
const SEED_ID_LABEL = 'tally/seed-id/v1';

const utf8Encoder = new TextEncoder();

/** 64-bit key as two unsigned 32-bit halves (little-endian words of its bytes). */
export interface HashKey {
  readonly k0: number;
  readonly k1: number;
}

/** Reads a key from exactly 8 bytes; any other length is a programmer error. */
export function hashKeyFromBytes(bytes: Uint8Array): HashKey {
  assert(bytes.length === KEY_BYTES, 'a hash key has exactly 8 bytes');
  return { k0: wordAt(bytes, 0) >>> 0, k1: wordAt(bytes, WORD_BYTES) >>> 0 };
}

/**
 * Hashes under one key. The result lies in `lo` and `hi` until the next call, so that the hot
 * path allocates nothing.
 */
export class KeyedHash {
  /** First output word of the last call, unsigned 32 bits. */
  lo = 0;
  /** Second output word of the last call, unsigned 32 bits. */
  hi = 0;
  /** Unsigned 32-bit fingerprint of the key: the hash of a fixed label under it. */
  readonly seedId: number;

  readonly #k0: number;
  readonly #k1: number;
  #words = new Int32Array(SCRATCH_BYTES_INITIAL / WORD_BYTES);
  #utf8 = new Uint8Array(SCRATCH_BYTES_INITIAL);

  constructor(key: HashKey) {
    this.#k0 = key.k0 | 0;
    this.#k1 = key.k1 | 0;
    this.hashString(SEED_ID_LABEL);
    this.seedId = this.lo;
    this.lo = 0;
    this.hi = 0;
  }

  /** Hashes the UTF-8 bytes of a well-formed string into `lo` and `hi`. */
  hashString(text: string): void {
    if (this.#packAscii(text)) {
      this.#hashPacked(text.length);
      return;
    }
    const bytesMax = text.length * UTF8_BYTES_PER_CODE_UNIT_MAX;
    if (this.#utf8.length < bytesMax) this.#utf8 = new Uint8Array(bytesMax);
    const { written } = utf8Encoder.encodeInto(text, this.#utf8);
    this.hashBytes(this.#utf8, 0, written);
  }

  /** Hashes `bytes[start..end)` into `lo` and `hi`. */
  hashBytes(bytes: Uint8Array, start: number, end: number): void {
    assert(start >= 0 && start <= end && end <= bytes.length, 'the part lies in the array');
    const length = end - start;
    this.#reserve(length);
    const words = this.#words;
    let wordCount = 0;
    let offset = start;
    for (; offset + WORD_BYTES <= end; offset += WORD_BYTES) {
      words[wordCount++] = wordAt(bytes, offset);
    }
    let last = length << 24;
    for (let shift = 0; offset < end; offset += 1, shift += 8) last |= bytes[offset]! << shift;
    words[wordCount] = last;
    this.#hashPacked(length);
  }

  /** Packs a string's bytes into words if it is all ASCII; says false if it is not. */
  #packAscii(text: string): boolean {
    const length = text.length;
    this.#reserve(length);
    const words = this.#words;
    let wordCount = 0;
    let offset = 0;
    for (; offset + WORD_BYTES <= length; offset += WORD_BYTES) {
      const c0 = text.charCodeAt(offset);
      const c1 = text.charCodeAt(offset + 1);
      const c2 = text.charCodeAt(offset + 2);
      const c3 = text.charCodeAt(offset + 3);
      if ((c0 | c1 | c2 | c3) > ASCII_MAX) return false;
      words[wordCount++] = c0 | (c1 << 8) | (c2 << 16) | (c3 << 24);
    }
    let last = length << 24;
    for (let shift = 0; offset < length; offset += 1, shift += 8) {
      const code = text.charCodeAt(offset);
      if (code > ASCII_MAX) return false;
      last |= code << shift;
    }
    words[wordCount] = last;
    return true;
  }

  /** Makes room for an input's words and the closing one, which carries its length. */
  #reserve(byteLength: number): void {
    const wordCount = Math.floor(byteLength / WORD_BYTES) + 1;
    if (this.#words.length < wordCount) this.#words = new Int32Array(wordCount * 2);
  }

  /**
   * Runs the cipher over the packed words. Each turn is two rounds: one turn absorbs a word, two
   * more make an output word. The rounds are written out because V8 does not unroll loops, which
   * would cost a fifth of the time; they stand here once because every turn shares them.
   */
  #hashPacked(byteLength: number): void {
    const words = this.#words;
    const wordCount = (byteLength >>> 2) + 1;
    let v0 = this.#k0;
    let v1 = this.#k1 ^ WIDE_OUTPUT_TAG;
    let v2 = this.#k0 ^ INITIAL_V2;
    let v3 = this.#k1 ^ INITIAL_V3;
    for (let turn = 0; turn < wordCount + 2 * TURNS_PER_OUTPUT_WORD; turn += 1) {
      let word = 0;
      if (turn < wordCount) {
        word = words[turn]!;
        v3 ^= word;
      } else if (turn === wordCount) {
        v2 ^= WIDE_OUTPUT_TAG;
      } else if (turn === wordCount + TURNS_PER_OUTPUT_WORD) {
        this.lo = (v1 ^ v3) >>> 0;
        v1 ^= SECOND_WORD_TAG;
      }

      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);

      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);

      v0 ^= word;
    }
    this.hi = (v1 ^ v3) >>> 0;
  }
}

/** The little-endian 32-bit word at an offset, signed. */
function wordAt(bytes: Uint8Array, offset: number): number {
  return (
    bytes[offset]! |
    (bytes[offset + 1]! << 8) |
    (bytes[offset + 2]! << 16) |
    (bytes[offset + 3]! << 24)
  );
}
