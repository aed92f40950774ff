import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteWriter } from '../../src/lib/bytes.ts';
import { Prng } from '../../src/lib/prng.ts';
import {
  packedEstimate,
  registersInRange,
  VIEWER_HASHES_MAX,
  VIEWER_REGISTERS_BYTES,
  ViewerSet,
} from '../../src/sketches/viewer-set.ts';

function bytesOf(set: ViewerSet): Uint8Array {
  const writer = new ByteWriter();
  set.writeTo(writer);
  return writer.finish();
}

function setOf(hashes: Iterable<readonly [lo: number, hi: number]>): ViewerSet {
  const set = new ViewerSet();
  for (const [lo, hi] of hashes) set.add(lo, hi);
  return set;
}

function randomSet(size: number, seed: number): ViewerSet {
  const prng = new Prng(seed);
  return setOf(Array.from({ length: size }, () => [prng.nextUint32(), prng.nextUint32()] as const));
}

/** Few hashes and many, so that some sets are exact and some are not. */
const hashLists = fc
  .tuple(fc.integer(), fc.constantFrom(0, 3, 90, 200))
  .map(([seed, size]): (readonly [number, number])[] => {
    const prng = new Prng(seed);
    return Array.from({ length: size }, () => [prng.nextUint32(), prng.nextInt(50)] as const);
  });

describe('the actors of one item', () => {
  it('are counted exactly up to 96, however often each comes', () => {
    const set = new ViewerSet();
    for (let round = 0; round < 3; round += 1) {
      for (let actor = 0; actor < VIEWER_HASHES_MAX; actor += 1) set.add(actor, 7);
    }
    expect(set.isExact).toBe(true);
    expect(set.estimate()).toBe(96);
    set.add(1_000, 7);
    expect(set.isExact).toBe(false);
  });

  it('unite in any order and grouping to the same bytes', () => {
    fc.assert(
      fc.property(hashLists, hashLists, hashLists, (a, b, c) => {
        const whole = bytesOf(setOf([...a, ...b, ...c]));
        const left = setOf(a);
        left.merge(setOf(b));
        left.merge(setOf(c));
        expect(bytesOf(left)).toEqual(whole);
        const right = setOf(c);
        const middle = setOf(b);
        middle.merge(setOf(a));
        right.merge(middle);
        expect(bytesOf(right)).toEqual(whole);
        // To be united with itself again changes nothing.
        right.merge(setOf(b));
        expect(bytesOf(right)).toEqual(whole);
      }),
    );
  });

  it('are left alone by a union, and by what happens to a copy', () => {
    for (const size of [20, 500]) {
      const set = randomSet(size, 1);
      const before = bytesOf(set);
      const copy = set.clone();
      copy.merge(randomSet(300, 2));
      const other = randomSet(300, 3);
      other.merge(set);
      expect(bytesOf(set)).toEqual(before);
      expect(set.estimate()).toBe(randomSet(size, 1).estimate());
    }
  });

  it('unite with packed registers as with those that were packed', () => {
    fc.assert(
      fc.property(hashLists, fc.integer(), (list, seed) => {
        const packed = bytesOf(randomSet(150, seed));
        expect(packed).toHaveLength(VIEWER_REGISTERS_BYTES);
        expect(registersInRange(packed)).toBe(true);
        expect(packedEstimate(Uint8Array.of(255, ...packed), 1)).toBe(
          randomSet(150, seed).estimate(),
        );
        const set = setOf(list);
        set.addPackedRegisters(Uint8Array.of(255, ...packed), 1);
        const whole = randomSet(150, seed);
        whole.merge(setOf(list));
        expect(bytesOf(set)).toEqual(bytesOf(whole));
        expect(set.estimate()).toBe(whole.estimate());
      }),
    );
  });

  it('have no register above 55', () => {
    for (let register = 0; register < 8; register += 1) {
      for (let rank = 0; rank < 64; rank += 1) {
        const bytes = new Uint8Array(6);
        const bit = 6 * register;
        for (let at = 0; at < 6; at += 1) {
          if ((rank & (1 << at)) !== 0) bytes[(bit + at) >> 3]! |= 1 << ((bit + at) & 7);
        }
        expect(registersInRange(bytes)).toBe(rank <= 55);
      }
    }
  });
});

it.each([97, 300, 1_000, 5_000, 50_000])(
  'registers err by 3.25 percent and no more, at %i actors',
  (size) => {
    const seedCount = size > 10_000 ? 40 : 200;
    let squares = 0;
    let sum = 0;
    let within = 0;
    for (let seed = 1; seed <= seedCount; seed += 1) {
      const error = randomSet(size, seed).estimate() / size - 1;
      squares += error * error;
      sum += error;
      if (Math.abs(error) <= 1.96 * ViewerSet.standardError) within += 1;
    }
    // The spread of a root mean square over so many trials, four of its standard deviations.
    const slack = 1 + 4 / Math.sqrt(2 * seedCount);
    expect(Math.sqrt(squares / seedCount)).toBeLessThan(ViewerSet.standardError * slack);
    expect(Math.abs(sum / seedCount)).toBeLessThan(
      (4 * ViewerSet.standardError) / seedCount ** 0.5,
    );
    expect(within / seedCount).toBeGreaterThan(0.95 - 4 * Math.sqrt((0.95 * 0.05) / seedCount));
  },
);
