import { expect, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { cryptoTags, seededTags } from '../../src/lib/random-tag.ts';

/** xoshiro128** as its authors' C code computes it, with 64-bit integers cut to 32. */
function referenceXoshiro(state: [bigint, bigint, bigint, bigint]): () => number {
  const cut = (value: bigint): bigint => value & 0xffff_ffffn;
  const rotl = (x: bigint, k: bigint): bigint => cut((x << k) | (x >> (32n - k)));
  return () => {
    const result = cut(rotl(cut(state[1] * 5n), 7n) * 9n);
    const t = cut(state[1] << 9n);
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = rotl(state[3], 11n);
    return Number(result);
  };
}

/** splitmix32, likewise. */
function referenceState(seed: number): [bigint, bigint, bigint, bigint] {
  let state = BigInt(seed);
  const next = (): bigint => {
    state = (state + 0x9e3779b9n) & 0xffff_ffffn;
    let z = state;
    z = ((z ^ (z >> 16n)) * 0x85ebca6bn) & 0xffff_ffffn;
    z = ((z ^ (z >> 13n)) * 0xc2b2ae35n) & 0xffff_ffffn;
    return z ^ (z >> 16n);
  };
  return [next(), next(), next(), next()];
}

test.each([0, 1, 2, 12_345, 0xffff_ffff])('seed %i gives the published sequence', (seed) => {
  const prng = new Prng(seed);
  const reference = referenceXoshiro(referenceState(seed));
  for (let step = 0; step < 1_000; step++) {
    expect(prng.nextUint32()).toBe(reference());
  }
});

test('the same seed repeats itself and another one does not', () => {
  const take = (seed: number): number[] => {
    const prng = new Prng(seed);
    return Array.from({ length: 8 }, () => prng.nextUint32());
  };
  expect(take(7)).toEqual(take(7));
  expect(take(7)).not.toEqual(take(8));
});

test('integers fill their range evenly', () => {
  const prng = new Prng(42);
  const counts = new Array<number>(10).fill(0);
  const draws = 100_000;
  for (let draw = 0; draw < draws; draw++) {
    const value = prng.nextInt(10);
    counts[value] = (counts[value] ?? 0) + 1;
  }
  // Chi-squared with 9 degrees of freedom: 27.9 is exceeded once in a thousand seeds.
  const expected = draws / 10;
  const chiSquared = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(counts).toHaveLength(10);
  expect(chiSquared).toBeLessThan(27.9);
});

test('floats lie in [0, 1) and average a half', () => {
  const prng = new Prng(43);
  const values = Array.from({ length: 100_000 }, () => prng.nextFloat());
  const sum = values.reduce((total, value) => total + value, 0);
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true);
  // Four standard errors of the mean of 100,000 uniform numbers.
  expect(Math.abs(sum / 100_000 - 0.5)).toBeLessThan(0.0037);
});

test('chance 0 never and chance 1 always happens', () => {
  const prng = new Prng(44);
  for (let draw = 0; draw < 1_000; draw++) {
    expect(prng.chance(0)).toBe(false);
    expect(prng.chance(1)).toBe(true);
  }
});

test('pick reaches every element and refuses an empty array', () => {
  const prng = new Prng(45);
  const picked = new Set(Array.from({ length: 200 }, () => prng.pick(['a', 'b', 'c'])));
  expect([...picked].sort()).toEqual(['a', 'b', 'c']);
  expect(() => prng.pick([])).toThrow(/empty/);
});

test.each([0, -1, 1.5, 2 ** 32 + 1, Number.NaN])('nextInt refuses %d', (maxExclusive) => {
  expect(() => new Prng(1).nextInt(maxExclusive)).toThrow(/maxExclusive/);
});

test('tags are 16 hexadecimal characters, seeded ones repeat and random ones do not', () => {
  const seeded = (seed: number): string[] => {
    const tags = seededTags(new Prng(seed));
    return Array.from({ length: 100 }, tags);
  };
  const random = Array.from({ length: 100 }, cryptoTags);
  for (const tag of [...seeded(1), ...random]) {
    expect(tag).toMatch(/^[0-9a-f]{16}$/);
  }
  expect(seeded(1)).toEqual(seeded(1));
  expect(seeded(1)).not.toEqual(seeded(2));
  expect(new Set(random).size).toBe(random.length);
});
