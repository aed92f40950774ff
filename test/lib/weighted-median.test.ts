import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WeightedMedian, type WeightedValue } from '../../src/lib/weighted-median.ts';

const parts = fc.array(fc.record({ value: fc.integer({ min: -5, max: 5 }), weight: fc.nat(4) }), {
  minLength: 1,
  maxLength: 12,
});

/** With integer weights: the median of a list that holds each value so many times. */
function simpleMedian(weighted: readonly WeightedValue[]): number {
  const values = weighted.flatMap(({ value, weight }) => new Array<number>(weight).fill(value));
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length / 2) - 1]!;
}

test('a weighted median is the median of a list that holds each value as often as it weighs', () => {
  fc.assert(
    fc.property(parts, (weighted) => {
      fc.pre(weighted.some(({ weight }) => weight > 0));
      expect(new WeightedMedian(weighted).median()).toBe(simpleMedian(weighted));
    }),
  );
});

test('without one of the values it is that of the others', () => {
  fc.assert(
    fc.property(parts, fc.nat(12), (weighted, without) => {
      const others = weighted.filter((_, index) => index !== without);
      fc.pre(others.some(({ weight }) => weight > 0));
      expect(new WeightedMedian(weighted).median(without)).toBe(simpleMedian(others));
    }),
  );
});

test('a value without weight may be anything, but something must weigh', () => {
  const nothing = { value: Number.NaN, weight: 0 };
  expect(new WeightedMedian([nothing, { value: 7, weight: 0.1 }]).median()).toBe(7);
  expect(() => new WeightedMedian([nothing]).median()).toThrow();
});
