import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../src/lib/bytes.ts';
import { Prng } from '../../src/lib/prng.ts';
import { SketchDecodeError } from '../../src/sketches/sketch-decode-error.ts';
import {
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

  it('are read back as they were written, and go on from there', () => {
    fc.assert(
      fc.property(hashLists, hashLists, (before, after) => {
        const set = setOf(before);
        if (set.estimate() === 0) return;
        const bytes = bytesOf(set);
        expect(bytes).toHaveLength(set.encodedBytes);
        const read = ViewerSet.readFrom(new ByteReader(bytes), set.hashCount);
        expect(read.isExact).toBe(set.isExact);
        expect(read.estimate()).toBe(set.estimate());
        const added = setOf(after);
        read.merge(added);
        set.merge(added);
        expect(bytesOf(read)).toEqual(bytesOf(set));
      }),
    );
  });

  it('are refused with a register above 55, or with a hash twice', () => {
    const registers = new Uint8Array(VIEWER_REGISTERS_BYTES);
    registers[5] = 56 << 2;
    expect(() => ViewerSet.readFrom(new ByteReader(registers), 0)).toThrow(SketchDecodeError);
    registers[5] = 55 << 2;
    expect(() => ViewerSet.readFrom(new ByteReader(registers), 0)).not.toThrow();
    const twice = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(() => ViewerSet.readFrom(new ByteReader(twice), 2)).toThrow(SketchDecodeError);
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
