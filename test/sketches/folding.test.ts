import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { CountMin } from '../../src/sketches/count-min.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { Summary, type SummaryShape } from '../../src/sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../../src/sketches/summary-codec.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { CountOracle } from '../support/oracle.ts';
import { addEvents, brokenBounds, eventLists } from '../support/summary-events.ts';

const hash = new KeyedHash({ k0: 1, k1: 2 });

const shapes: fc.Arbitrary<SummaryShape> = fc.record({
  width: fc.constantFrom(16, 32, 64),
  depth: fc.integer({ min: 1, max: 4 }),
  candidates: fc.integer({ min: 1, max: 8 }),
  exactItems: fc.integer({ min: 1, max: 6 }),
  exactItemBytes: fc.constant(1_000),
  exactActors: fc.integer({ min: 1, max: 6 }),
  exactPairs: fc.integer({ min: 1, max: 10 }),
  viewerBytes: fc.integer({ min: 100, max: 400 }),
});

describe('sketches of different shapes', () => {
  it('fold to the sketch that the smaller shape would have been, after plain adds', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom(16, 32, 64), fc.nat(2), (seed, width, less) => {
        const prng = new Prng(seed);
        const large = new CountMin({ width: 64, depth: 3 });
        const small = new CountMin({ width, depth: 3 - less });
        for (let event = 0; event < 100; event += 1) {
          const [lo, hi] = [prng.nextUint32(), prng.nextUint32()];
          large.add(lo, hi, 1 + (event % 3));
          small.add(lo, hi, 1 + (event % 3));
        }
        const folded = large.folded(small);
        expect([...folded.cells]).toEqual([...small.cells]);
        expect(folded.total).toBe(small.total);
      }),
    );
  });

  it('merge in either order, with bounds that hold, to the smaller shape of both', () => {
    fc.assert(
      fc.property(shapes, shapes, eventLists, eventLists, (one, other, first, second) => {
        const summaries = [one, other].map((shape) => new Summary({ hash, shape }));
        const [a, b] = summaries as [Summary, Summary];
        addEvents(a, first);
        addEvents(b, second);
        const oracle = new CountOracle();
        for (const { item, count } of [...first, ...second]) oracle.add(item, count);
        for (const [target, added] of [
          [a.clone(), b],
          [b.clone(), a],
        ] as const) {
          target.merge(added);
          expect(brokenBounds(new SummaryView([target], hash), oracle)).toEqual([]);
          if (a.cellShape !== null && b.cellShape !== null) {
            expect(target.cellShape?.width).toBe(Math.min(one.width, other.width));
            expect(target.cellShape?.depth).toBe(Math.min(one.depth, other.depth));
          }
        }
      }),
    );
  });

  it('are stored and read in their own shape, whatever is set up now', () => {
    fc.assert(
      fc.property(shapes, shapes, eventLists, (before, now, events) => {
        const summary = new Summary({ hash, shape: before });
        addEvents(summary, events);
        const read = decodeSummary(encodeSummary(summary), { hash, shape: now });
        expect(read.cellShape?.width).toBe(summary.cellShape?.width);
        expect(encodeSummary(read)).toEqual(encodeSummary(summary));
      }),
    );
  });

  it('state the error of their own cells', () => {
    const shape = { width: 16, depth: 2, candidates: 2, exactItems: 1, exactItemBytes: 100 };
    const actors = { exactActors: 1, exactPairs: 1, viewerBytes: 100 };
    const narrow = new Summary({ hash, shape: { ...shape, ...actors } });
    for (const item of ['a', 'b', 'c']) narrow.add(item, 32, null);
    const wide = new Summary({ hash, shape: { ...shape, ...actors, width: 1_024 } });
    for (const item of ['a', 'b', 'c']) wide.add(item, 32, null);
    const { errorBound } = new SummaryView([narrow, wide], hash);
    expect(errorBound).toBe(Math.ceil((Math.E / 16) * 96 + (Math.E / 1_024) * 96));
  });
});
