import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { ActorSet } from '../../src/sketches/actor-set.ts';

type Hash = readonly [lo: number, hi: number];

/** Hashes that meet each other often: equal halves, the same probe position, zeros. */
const collidingHashes: fc.Arbitrary<Hash[]> = fc.array(
  fc.tuple(fc.constantFrom(0, 1, 16, 32, 0x80000000, 0xffffffff), fc.integer({ min: 0, max: 9 })),
  { maxLength: 200 },
);

const spreadHashes: fc.Arbitrary<Hash[]> = fc.array(
  fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  { maxLength: 200 },
);

function setOf(hashes: Iterable<Hash>): ActorSet {
  const set = new ActorSet();
  for (const [lo, hi] of hashes) set.add(lo, hi);
  return set;
}

function numberOf(lo: number, hi: number): bigint {
  return (BigInt(hi) << 32n) | BigInt(lo);
}

function visited(set: ActorSet): bigint[] {
  const numbers: bigint[] = [];
  set.forEach((lo, hi) => {
    numbers.push(numberOf(lo, hi));
  });
  return numbers;
}

function ascending(numbers: Iterable<bigint>): bigint[] {
  return [...numbers].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

describe('ActorSet', () => {
  it('says of every addition whether it is new, as an exact set does', () => {
    fc.assert(
      fc.property(fc.oneof(collidingHashes, spreadHashes), (hashes) => {
        const set = new ActorSet();
        const exact = new Set<bigint>();
        for (const [lo, hi] of hashes) {
          const number = numberOf(lo, hi);
          expect(set.has(lo, hi)).toBe(exact.has(number));
          expect(set.add(lo, hi)).toBe(!exact.has(number));
          exact.add(number);
          expect(set.has(lo, hi)).toBe(true);
          expect(set.size).toBe(exact.size);
        }
        expect(ascending(visited(set))).toEqual(ascending(exact));
      }),
    );
  });

  it('keeps every hash while it grows to tens of thousands', () => {
    const prng = new Prng(1);
    const hashes = Array.from(
      { length: 50_000 },
      () => [prng.nextUint32(), prng.nextUint32()] as const,
    );
    const set = setOf(hashes);
    expect(set.size).toBe(50_000);
    expect(hashes.every(([lo, hi]) => set.has(lo, hi))).toBe(true);
    expect(hashes.some(([lo, hi]) => set.has(lo, (hi ^ 1) >>> 0))).toBe(false);
  });

  it('holds the zero hash like any other', () => {
    const set = new ActorSet();
    expect(set.has(0, 0)).toBe(false);
    expect(set.add(0, 0)).toBe(true);
    expect(set.add(0, 0)).toBe(false);
    expect(set.has(0, 0)).toBe(true);
    expect(set.size).toBe(1);
    expect(visited(set)).toEqual([0n]);
    expect([...set.sorted()]).toEqual([0, 0]);
    expect(set.clone().has(0, 0)).toBe(true);
  });

  it('tells hashes apart that share one half', () => {
    const set = setOf([
      [5, 0],
      [5, 1],
      [0, 5],
    ]);
    expect(set.size).toBe(3);
    expect(set.has(1, 5)).toBe(false);
  });

  it('sorts by the high half first, as unsigned numbers', () => {
    const set = setOf([
      [0xffffffff, 1],
      [7, 0x80000000],
      [2, 1],
      [9, 0],
    ]);
    expect([...set.sorted()]).toEqual([9, 0, 2, 1, 0xffffffff, 1, 7, 0x80000000]);
  });

  it('gives the same sorted array whatever the order and repetition of the additions', () => {
    fc.assert(
      fc.property(fc.oneof(collidingHashes, spreadHashes), (hashes) => {
        const forwards = setOf(hashes);
        const backwards = setOf([...hashes, ...hashes].reverse());
        expect(backwards.sorted()).toEqual(forwards.sorted());
        const pairs = forwards.sorted();
        const numbers = [];
        for (let place = 0; place < pairs.length; place += 2) {
          numbers.push(numberOf(pairs[place] ?? 0, pairs[place + 1] ?? 0));
        }
        expect(numbers).toEqual(ascending(visited(forwards)));
      }),
    );
  });

  it('makes clones that do not change with the original, nor it with them', () => {
    const original = setOf([
      [1, 1],
      [2, 2],
    ]);
    const copy = original.clone();
    original.add(3, 3);
    copy.add(4, 4);
    copy.add(0, 0);
    expect(ascending(visited(original))).toEqual([1, 2, 3].map((half) => numberOf(half, half)));
    expect(ascending(visited(copy))).toEqual([0, 1, 2, 4].map((half) => numberOf(half, half)));
  });

  it('takes 8 bytes a slot and doubles before more than three of four slots are taken', () => {
    const set = new ActorSet();
    expect(set.byteLength).toBe(16 * 8);
    for (let count = 1; count <= 12; count += 1) set.add(count, 0);
    expect(set.byteLength).toBe(16 * 8);
    set.add(12, 0);
    expect(set.byteLength).toBe(16 * 8);
    set.add(13, 0);
    expect(set.byteLength).toBe(32 * 8);
  });
});
