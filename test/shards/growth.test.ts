import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import {
  automaticPartsMax,
  type GrowthOptions,
  partsFor,
  type RateReport,
  sumRates,
} from '../../src/shards/growth.ts';
import { PARTS_MAX } from '../../src/shards/layout.ts';

const USUAL: GrowthOptions = {
  ratePerSecond: 1_000,
  partRatePerSecond: 1_000,
  headroom: 0.5,
  partsNow: 1,
  partsMax: 64,
};

describe('partsFor', () => {
  test.each([
    [0, 1],
    [500, 1],
    [501, 2],
    [1_000, 2],
    [1_001, 4],
    [31_999, 64],
    [32_001, 64],
    [1e12, 64],
  ])('a key with %d writes/s, 500 of them in a part, belongs into %d', (ratePerSecond, parts) => {
    expect(partsFor({ ...USUAL, ratePerSecond })).toBe(parts);
  });

  it('uses all of a part without headroom', () => {
    expect(partsFor({ ...USUAL, headroom: 0 })).toBe(1);
    expect(partsFor({ ...USUAL, headroom: 0, ratePerSecond: 1_000.1 })).toBe(2);
  });

  it('never takes parts away', () => {
    expect(partsFor({ ...USUAL, ratePerSecond: 0, partsNow: 8 })).toBe(8);
    expect(partsFor({ ...USUAL, ratePerSecond: 1e9, partsNow: 128 })).toBe(128);
  });

  it('stays at a power of two under a ceiling that is none', () => {
    expect(partsFor({ ...USUAL, ratePerSecond: 1e9, partsMax: 12 })).toBe(8);
    expect(partsFor({ ...USUAL, ratePerSecond: 1e9, partsMax: 1 })).toBe(1);
  });

  it('answers the least power of two that is enough, or the ceiling', () => {
    const options = fc.record({
      ratePerSecond: fc.double({ min: 0, max: 1e9, noNaN: true }),
      partRatePerSecond: fc.double({ min: 1, max: 1e5, noNaN: true }),
      headroom: fc.double({ min: 0, max: 0.9, noNaN: true }),
      partsNow: fc.nat(8).map((power) => 2 ** power),
      partsMax: fc.integer({ min: 1, max: 300 }),
    });
    const property = fc.property(options, (given) => {
      const parts = partsFor(given);
      const planned = given.partRatePerSecond * (1 - given.headroom);
      expect(Math.log2(parts) % 1).toBe(0);
      expect(parts).toBeGreaterThanOrEqual(given.partsNow);
      if (parts > given.partsNow) {
        expect(parts).toBeLessThanOrEqual(given.partsMax);
        expect(given.ratePerSecond / (parts / 2)).toBeGreaterThan(planned);
      }
      const isEnough = given.ratePerSecond / parts <= planned;
      expect(isEnough || 2 * parts > given.partsMax).toBe(true);
    });
    fc.assert(property);
  });

  test.each([
    { headroom: 1 },
    { headroom: -0.1 },
    { partsNow: 3 },
    { partsNow: 0 },
    { partsMax: 0 },
    { ratePerSecond: -1 },
    { ratePerSecond: Number.NaN },
    { partRatePerSecond: 0 },
  ])('refuses %o', (wrong) => {
    expect(() => partsFor({ ...USUAL, ...wrong })).toThrow(AssertionFailure);
  });
});

test.each([
  [1, 1],
  [2, 8],
  [3, 12],
  [16, 64],
  [64, PARTS_MAX],
  [65, PARTS_MAX],
])('%d primaries: automatic growth ends at %d parts', (primaryCount, parts) => {
  expect(automaticPartsMax(primaryCount)).toBe(parts);
});

describe('sumRates', () => {
  const report = (process: string, atMs: number, rates: Record<string, number>): RateReport => ({
    process,
    atMs,
    rates: Object.entries(rates).map(([key, ratePerSecond]) => ({ key, ratePerSecond })),
  });
  const now = { nowMs: 100_000, ageMsMax: 5_000 };

  it('adds up what each process saw of a key, hottest first and equal ones by name', () => {
    const reports = [
      report('p', 100_000, { b: 5, a: 1, c: 6 }),
      report('q', 99_000, { a: 10, b: 1 }),
    ];
    expect(sumRates(reports, now)).toEqual([
      { key: 'a', ratePerSecond: 11 },
      { key: 'b', ratePerSecond: 6 },
      { key: 'c', ratePerSecond: 6 },
    ]);
    expect(sumRates([], now)).toEqual([]);
  });

  it('leaves out what is too old, or as far ahead', () => {
    const atLimits = [report('p', 95_000, { a: 1 }), report('q', 105_000, { a: 2 })];
    expect(sumRates(atLimits, now)).toEqual([{ key: 'a', ratePerSecond: 3 }]);
    const beyond = [report('p', 94_999, { a: 1 }), report('q', 105_001, { a: 2 })];
    expect(sumRates(beyond, now)).toEqual([]);
  });

  it('counts the newest report of a process only, whatever their order', () => {
    const reports = [
      report('p', 97_000, { a: 1, gone: 9 }),
      report('p', 99_000, { a: 2 }),
      report('p', 98_000, { a: 4 }),
    ];
    expect(sumRates(reports, now)).toEqual([{ key: 'a', ratePerSecond: 2 }]);
  });
});
