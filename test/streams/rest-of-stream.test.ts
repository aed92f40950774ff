import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CountPair, RestOfStream } from '../../src/streams/rest-of-stream.ts';

const count = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 }), fc.nat(5_000));
const pairs = fc.array(fc.record({ now: count, before: count }), { maxLength: 12 });

function sumOf(items: readonly CountPair[]): CountPair {
  return {
    now: items.reduce((sum, { now }) => sum + now, 0),
    before: items.reduce((sum, { before }) => sum + before, 0),
  };
}

/** What the header promises, by going through all that takes part for each item anew. */
function simpleRatio(items: readonly CountPair[], totals: CountPair, without: number): number {
  const isLarge = ({ now, before }: CountPair): boolean => now >= 40 || before >= 40;
  const large = sumOf(items.filter(isLarge));
  const small = { now: totals.now - large.now, before: totals.before - large.before };
  const others = items.filter((item, index) => isLarge(item) && index !== without);
  const parts = [...others, small]
    .map(({ now, before }) => ({ ratio: now / before, weight: Math.min(now, before) }))
    .filter(({ weight }) => weight > 0);
  const ordered = [...parts, { ratio: 1, weight: 50 }].sort((a, b) => a.ratio - b.ratio);
  let left = ordered.reduce((sum, { weight }) => sum + weight, 0) / 2;
  const median = ordered.find(({ weight }) => {
    left -= weight;
    return left <= 0;
  });
  return Math.min(5, Math.max(0.2, median!.ratio));
}

describe('the rest of a stream', () => {
  it('is as busy as the median of all other items says', () => {
    fc.assert(
      fc.property(pairs, fc.nat(3_000), fc.nat(3_000), (items, now, before) => {
        const listed = sumOf(items);
        const totals = { now: listed.now + now, before: listed.before + before };
        const rest = new RestOfStream(items, totals);
        for (let index = 0; index < items.length; index += 1) {
          expect(rest.without(index)).toBeCloseTo(simpleRatio(items, totals, index), 9);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is what grows where all grow, and not what a single item does', () => {
    const items = [200, 300, 400, 500, 600].map((before) => ({ before, now: 1.5 * before }));
    expect(new RestOfStream(items, sumOf(items)).without(2)).toBeCloseTo(1.5, 9);
    const alone = [{ before: 100, now: 900 }];
    expect(new RestOfStream(alone, sumOf(alone)).without(0)).toBe(1);
  });

  it('does not take a flood for it, neither now nor before, of an item known by name', () => {
    const items = [200, 300, 400, 500, 600].map((before) => ({ before, now: before }));
    for (const flood of [
      { before: 20, now: 50_000 },
      { before: 50_000, now: 20 },
    ]) {
      const flooded = [...items, flood];
      const rest = new RestOfStream(flooded, sumOf(flooded));
      for (let index = 0; index < flooded.length; index += 1) expect(rest.without(index)).toBe(1);
    }
  });

  it('says little where it is little', () => {
    const items = [{ before: 10, now: 30 }];
    expect(new RestOfStream(items, { now: 45, before: 15 }).without(0)).toBe(1);
  });

  it('explains a change by a factor of 5 at most', () => {
    for (const [before, now, ratio] of [
      [1_000, 50_000, 5],
      [50_000, 1_000, 0.2],
    ] as const) {
      const small = [{ before: 3, now: 3 }];
      expect(new RestOfStream(small, { before, now }).without(0)).toBe(ratio);
    }
  });

  it('bears upper bounds that sum up to more than the exact total', () => {
    const items = [100, 100, 100].map((each) => ({ before: each, now: 2 * each }));
    const rest = new RestOfStream(items, { now: 590, before: 280 });
    expect(rest.without(0)).toBe(2);
  });
});
