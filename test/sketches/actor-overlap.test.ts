import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { overlapOf } from '../../src/sketches/actor-overlap.ts';
import { CLOSED_SHAPE, Summary } from '../../src/sketches/summary.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { numbered, sketchOf } from '../support/sketch-of.ts';
import { testHash as hash } from '../support/summary-events.ts';

/** Of actors who are known by their hashes. */
function exactView(actors: Iterable<string>): SummaryView {
  const summary = new Summary({ hash, shape: CLOSED_SHAPE });
  for (const actor of actors) {
    hash.hashString(actor);
    summary.add('item', 1, { lo: hash.lo, hi: hash.hi });
  }
  return new SummaryView([summary], hash);
}

/** Of actors who are only counted by registers. */
function estimatedView(prefix: string, from: number, to: number): SummaryView {
  const context = { hash, shape: CLOSED_SHAPE };
  const state = {
    ...new Summary(context).state(),
    total: to - from,
    actors: sketchOf(numbered(prefix, from, to), hash),
  };
  return new SummaryView([Summary.fromState(context, state)], hash);
}

function overlap(op: 'intersection' | 'difference', first: SummaryView, second: SummaryView) {
  const both = new SummaryView([...first.summaries, ...second.summaries], hash);
  return overlapOf(op, first, second, both);
}

describe('actors of two views', () => {
  test('are counted exactly while all of them are known', () => {
    const first = exactView(numbered('a', 0, 700));
    const second = exactView(numbered('a', 500, 1_000));
    const exact = { standardError: 0, exact: true, conclusive: true };
    const of = (size: number) => ({ estimate: size, lower: size, upper: size, ...exact });
    expect(overlap('intersection', first, second)).toEqual(of(200));
    expect(overlap('difference', first, second)).toEqual(of(500));
    expect(overlap('difference', second, first)).toEqual(of(300));
    const nobody = exactView([]);
    expect(overlap('intersection', first, nobody)).toEqual(of(0));
    expect(overlap('difference', nobody, first)).toEqual(of(0));
  });

  test('lie within their bounds in at least 95 of 100 cases, whatever they share', () => {
    const prng = new Prng(3);
    const sizes = [
      { first: 4_000, second: 4_000, common: 2_000 },
      { first: 8_000, second: 2_000, common: 1_500 },
      { first: 5_000, second: 5_000, common: 5_000 },
      { first: 3_000, second: 6_000, common: 0 },
    ];
    const runs = 60;
    for (const { first, second, common } of sizes) {
      let missed = 0;
      for (let run = 0; run < runs; run += 1) {
        const name = `${prng.nextUint32()}-`;
        const one = estimatedView(name, 0, first);
        const start = first - common;
        const other = estimatedView(name, start, start + second);
        const shared = overlap('intersection', one, other);
        const alone = overlap('difference', one, other);
        if (common < shared.lower || common > shared.upper) missed += 1;
        if (first - common < alone.lower || first - common > alone.upper) missed += 1;
      }
      expect(missed).toBeLessThanOrEqual(2 * runs * 0.05);
    }
  });

  test('that could as well be none are not estimated', () => {
    const first = estimatedView('a', 0, 50_000);
    const second = estimatedView('b', 0, 50_000);
    const shared = overlap('intersection', first, second);
    expect(shared).toMatchObject({ estimate: null, standardError: null, conclusive: false });
    expect(shared.lower).toBe(0);
    expect(shared.upper).toBeGreaterThan(0);
    expect(shared.upper).toBeLessThan(5_000);
    expect(overlap('difference', first, first).conclusive).toBe(false);
  });

  test('are at least those known to be in both, and at most those of one', () => {
    const known = exactView(numbered('a', 0, 100));
    const large = estimatedView('b', 0, 30_000);
    const mixed = new SummaryView([...known.summaries, ...large.summaries], hash);
    const shared = overlap('intersection', known, mixed);
    expect(shared).toMatchObject({ lower: 100, upper: 100, exact: false });
  });
});
