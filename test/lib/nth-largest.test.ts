import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import type { Counts } from '../../src/lib/counts.ts';
import { nextAtLeast, nthLargest } from '../../src/lib/nth-largest.ts';

function bySorting(values: Counts, n: number): number {
  return values.toSorted()[values.length - n] ?? Number.NaN;
}

/** Long enough for several rounds, with values that repeat or not. */
const lists = fc
  .array(fc.oneof(fc.nat(5), fc.nat(1000), fc.maxSafeNat()), { minLength: 1, maxLength: 400 })
  .map((values) => Float64Array.from(values));

it('selects what sorting would give, for every place', () => {
  fc.assert(
    fc.property(lists, fc.nat(), (values, number) => {
      const before = values.slice();
      const n = 1 + (number % values.length);
      expect(nthLargest(values, n)).toBe(bySorting(values, n));
      expect(values).toEqual(before);
    }),
  );
});

it('selects among numbers of 32 bits as among others', () => {
  fc.assert(
    fc.property(fc.uint32Array({ minLength: 1, maxLength: 200 }), fc.nat(), (values, number) => {
      const n = 1 + (number % values.length);
      expect(nthLargest(values, n)).toBe(bySorting(values, n));
    }),
  );
});

it('finds the next value that is large enough', () => {
  fc.assert(
    fc.property(lists, fc.nat(400), fc.nat(8), (values, start, least) => {
      const found = values.findIndex((value, index) => index >= start && value >= least);
      expect(nextAtLeast(values, start, least)).toBe(
        found < 0 ? Math.max(start, values.length) : found,
      );
    }),
  );
});

it('selects in sorted, reversed, constant and organ-pipe lists', () => {
  const length = 3000;
  const shapes: ((index: number) => number)[] = [
    (index) => index,
    (index) => length - index,
    () => 7,
    (index) => Math.min(index, length - index),
    (index) => index % 3,
  ];
  for (const shape of shapes) {
    const values = Float64Array.from({ length }, (_, index) => shape(index));
    for (const n of [1, 2, 1000, length - 1, length]) {
      expect(nthLargest(values, n)).toBe(bySorting(values, n));
    }
  }
});

it('refuses a place that does not exist', () => {
  expect(() => nthLargest(Float64Array.of(1), 0)).toThrow(AssertionFailure);
  expect(() => nthLargest(Float64Array.of(1), 2)).toThrow(AssertionFailure);
});
