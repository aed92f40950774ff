import { assert } from './assert.ts';

/**
 * A small seeded generator for simulations, generated data and jitter; never for secrets.
 *
 * xoshiro128** 1.1 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM
 * TOMS 2021, https://prng.di.unimi.it/xoshiro128starstar.c). Its 128-bit state is filled from
 * the seed by splitmix32, so that neighbouring seeds give unrelated sequences.
 */
export class Prng {
  #s0: number;
  #s1: number;
  #s2: number;
  #s3: number;

  /** `seed`: any integer; its low 32 bits count. */
  constructor(seed: number) {
    assert(Number.isInteger(seed), 'a seed is an integer');
    const next = splitMix32(seed);
    this.#s0 = next();
    this.#s1 = next();
    this.#s2 = next();
    this.#s3 = next();
  }

  /** Uniform in 0..2^32 - 1. */
  nextUint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#s1, 5), 7), 9) >>> 0;
    const shifted = this.#s1 << 9;
    this.#s2 ^= this.#s0;
    this.#s3 ^= this.#s1;
    this.#s1 ^= this.#s2;
    this.#s0 ^= this.#s3;
    this.#s2 ^= shifted;
    this.#s3 = rotateLeft(this.#s3, 11);
    return result;
  }

  /** Uniform in [0, 1), with all 53 bits of a double's precision. */
  nextFloat(): number {
    const high = this.nextUint32() >>> 5;
    const low = this.nextUint32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }

  /** Uniform in 0..maxExclusive - 1, without modulo bias; maxExclusive in 1..2^32. */
  nextInt(maxExclusive: number): number {
    assert(
      Number.isInteger(maxExclusive) && maxExclusive >= 1 && maxExclusive <= 2 ** 32,
      'maxExclusive is an integer in 1..2^32',
    );
    const unbiasedEnd = 2 ** 32 - (2 ** 32 % maxExclusive);
    let value = this.nextUint32();
    while (value >= unbiasedEnd) {
      value = this.nextUint32();
    }
    return value % maxExclusive;
  }

  /** One element, each equally likely; the array must not be empty. */
  pick<T>(array: readonly T[]): T {
    assert(array.length > 0, 'cannot pick from an empty array');
    return array[this.nextInt(array.length)] as T;
  }

  /** True with probability `p` (0..1). */
  chance(p: number): boolean {
    return this.nextFloat() < p;
  }
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/** splitmix32: Weyl sequence and the 32-bit finaliser of MurmurHash3. */
function splitMix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let word = state;
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
    return word ^ (word >>> 16);
  };
}
