import fc from 'fast-check';
import { expect, test } from 'vitest';
import { certainRanksOf } from '../../../src/streams/questions/ranking.ts';

const boundsList = fc
  .array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 8 })
  .map((pairs) =>
    pairs
      .map(([a, b]) => ({ lower: Math.min(a, b), upper: Math.max(a, b) }))
      .sort((a, b) => b.upper - a.upper),
  );

test('as many ranks are certain as no truth within the bounds can contradict, and no more', () => {
  fc.assert(
    fc.property(boundsList, fc.nat(20), (bounds, maxUnlisted) => {
      const rows = bounds.map((each, index) => ({ item: `${index}`, count: each.upper, ...each }));
      const certain = certainRanksOf({ rows, maxUnlisted, exact: false, standardError: 0 });
      // The worst truth: those on top have their least, all others their most.
      const holds = (size: number): boolean => {
        const least = Math.min(...bounds.slice(0, size).map(({ lower }) => lower));
        const most = Math.max(maxUnlisted, ...bounds.slice(size).map(({ upper }) => upper));
        return least >= most;
      };
      if (certain > 0) expect(holds(certain)).toBe(true);
      for (let size = certain + 1; size <= rows.length; size += 1) expect(holds(size)).toBe(false);
    }),
  );
});
