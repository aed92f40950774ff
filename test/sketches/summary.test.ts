import { describe, expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import { Prng } from '../../src/lib/prng.ts';
import { guaranteeOf } from '../../src/sketches/count-min.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { ItemKey } from '../../src/sketches/item-key.ts';
import {
  CLOSED_SHAPE,
  PART_SHAPE,
  Summary,
  type SummaryContext,
  type SummaryShape,
} from '../../src/sketches/summary.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { DATASETS } from '../support/datasets.ts';
import { CountOracle } from '../support/oracle.ts';
import {
  brokenBounds,
  closedContext,
  hexOf,
  SMALL_SHAPE,
  smallContext,
  testHash,
} from '../support/summary-events.ts';

/** A hash key of its own for each seed. */
function contextOf(seed: number, shape: SummaryShape): SummaryContext {
  const prng = new Prng(seed);
  const hash = new KeyedHash({ k0: prng.nextUint32(), k1: prng.nextUint32() });
  return { hash, shape };
}

/** As events come one by one, as they come in exact parts, and as sketches of parts. */
const WAYS = {
  'one by one': (events: readonly string[], context: SummaryContext): Summary => {
    const summary = new Summary(context);
    for (const item of events) summary.add(item, 1, null);
    return summary;
  },
  'by exact parts': (events: readonly string[], context: SummaryContext): Summary => {
    const summary = new Summary(context);
    for (const part of thirdsOf(events)) {
      summary.merge(WAYS['one by one'](part, { ...context, shape: OPEN_SHAPE }));
    }
    return summary;
  },
  'by sketches': (events: readonly string[], context: SummaryContext): Summary => {
    const summary = new Summary(context);
    for (const part of thirdsOf(events)) summary.merge(WAYS['one by one'](part, context));
    return summary;
  },
} satisfies Record<string, (events: readonly string[], context: SummaryContext) => Summary>;

/** Wide enough to stay exact for every dataset here. */
const OPEN_SHAPE: SummaryShape = { ...SMALL_SHAPE, exactItems: 100_000, exactItemBytes: 1e7 };

function thirdsOf(events: readonly string[]): string[][] {
  const length = Math.ceil(events.length / 3);
  return [0, 1, 2].map((third) => events.slice(third * length, (third + 1) * length));
}

/** Every promise that a summary makes about the items of this oracle, as broken ones. */
function brokenPromises(summary: Summary, oracle: CountOracle): string[] {
  const { hash } = summary.context;
  const view = new SummaryView([summary], hash);
  const unlisted = oracle.items.filter(
    (item) => summary.listed.boundsOf(new ItemKey(item, hash)) === undefined,
  );
  return [
    ...brokenBounds(view, oracle),
    ...unlisted
      .filter((item) => oracle.countOf(item) > summary.cut)
      .map((item) => `${item} occurred ${oracle.countOf(item)} times, cut is ${summary.cut}`),
    ...(summary.total === oracle.total ? [] : [`the total is ${summary.total}`]),
  ];
}

/** A deviation that chance exceeds once in a million: Hoeffding, 1963. */
function hoeffdingSlack(trialCount: number): number {
  return Math.sqrt(Math.log(1e6) / (2 * trialCount));
}

const SKETCHING: SummaryShape = { ...SMALL_SHAPE, width: 32, depth: 3, candidates: 8 };

describe.each(DATASETS)('a summary of $name', ({ generate }) => {
  it.each(Object.entries(WAYS))('keeps every promise, filled %s', (_way, fill) => {
    for (const size of [5, 100, 2000]) {
      for (let seed = 1; seed <= 4; seed += 1) {
        const events = generate(size, seed);
        const summary = fill(events, contextOf(seed, SKETCHING));
        const broken = brokenPromises(summary, CountOracle.of(events));
        expect({ size, seed, broken }).toEqual({ size, seed, broken: [] });
        if (size === 2000) expect(summary.itemsExact).toBe(false);
      }
    }
  });

  it('keeps every promise with the shape of closed summaries, filled by parts', () => {
    const events = generate(40_000, 1);
    const context = contextOf(1, { ...CLOSED_SHAPE, exactItems: 1000 });
    const summary = new Summary(context);
    for (const part of thirdsOf(events)) {
      summary.merge(WAYS['one by one'](part, { ...context, shape: PART_SHAPE }));
    }
    const oracle = CountOracle.of(events);
    expect(brokenPromises(summary, oracle)).toEqual([]);
  });

  it.each(Object.entries(WAYS))(
    'is no more than epsilon * total too high, but for a share of delta, filled %s',
    (_way, fill) => {
      const { epsilon, delta } = guaranteeOf(SKETCHING);
      const seedCount = 60;
      const events = generate(1000, 1);
      const oracle = CountOracle.of(events);
      const { items } = oracle;
      let failures = 0;
      let trials = 0;
      for (let seed = 1; seed <= seedCount; seed += 1) {
        const summary = fill(events, contextOf(seed, SKETCHING));
        const view = new SummaryView([summary], summary.context.hash);
        // Items of one sketch share its hash key, so that a sketch is one trial.
        const item = items[(seed * 7919) % items.length]!;
        trials += 1;
        if (view.countOf(item).upper > oracle.countOf(item) + epsilon * 1000) failures += 1;
      }
      expect(failures / trials).toBeLessThanOrEqual(delta + hoeffdingSlack(trials));
    },
  );
});

describe('a summary', () => {
  it('counts exactly up to its limit of items, and estimates from limit + 1 on', () => {
    const summary = new Summary(smallContext);
    for (let item = 0; item < SMALL_SHAPE.exactItems; item += 1)
      summary.add(`item-${item}`, 5, null);
    expect(summary.itemsExact).toBe(true);
    expect(summary.itemCount).toBe(SMALL_SHAPE.exactItems);
    summary.add('item-0', 1, null);
    expect(summary.itemsExact).toBe(true);
    expect(summary.cut).toBe(0);
    summary.add('one more', 1, null);
    expect(summary.itemsExact).toBe(false);
    expect(summary.itemCount).toBe(SMALL_SHAPE.candidates);
    expect(summary.cut).toBe(5);
  });

  it('counts exactly up to its limit of bytes, and estimates one byte later', () => {
    const shape = { ...SMALL_SHAPE, exactItemBytes: 10 };
    const atLimit = new Summary({ hash: testHash, shape });
    atLimit.add('é'.repeat(4), 1, null);
    atLimit.add('ab', 1, null);
    expect(atLimit.itemBytes).toBe(10);
    expect(atLimit.itemsExact).toBe(true);
    atLimit.add('c', 1, null);
    expect(atLimit.itemsExact).toBe(false);
  });

  it('knows actors exactly up to its limit, and estimates from limit + 1 on', () => {
    const summary = new Summary(smallContext);
    for (let actor = 0; actor < SMALL_SHAPE.exactActors; actor += 1) {
      summary.add('page', 1, { lo: actor, hi: 1 });
    }
    summary.add('page', 1, { lo: 0, hi: 1 });
    expect(summary.actorsExact).toBe(true);
    summary.add('page', 1, { lo: 99, hi: 99 });
    expect(summary.actorsExact).toBe(false);
  });

  it('has the limits of the closed shape at 16,384 items and 1,536 actors', () => {
    const summary = new Summary(closedContext);
    for (let number = 0; number < 16_384; number += 1) summary.add(`item-${number}`, 1, null);
    for (let number = 0; number < 1536; number += 1) {
      summary.add('item-0', 1, { lo: number, hi: number });
    }
    expect([summary.itemsExact, summary.actorsExact]).toEqual([true, true]);
    summary.add('one more', 1, { lo: 1, hi: 2 });
    expect([summary.itemsExact, summary.actorsExact]).toEqual([false, false]);
  });

  it('sees a candidate again that had been pushed out: with bounds that hold', () => {
    const summary = new Summary(smallContext);
    const oracle = new CountOracle();
    const add = (item: string, count: number): void => {
      summary.add(item, count, null);
      oracle.add(item, count);
    };
    add('early', 3);
    for (let item = 0; item < 20; item += 1) add(`item-${item}`, 4 + item);
    const pushedOut = summary.boundsOf(new ItemKey('early', testHash));
    expect(pushedOut.lower).toBe(0);
    expect(pushedOut.upper).toBeGreaterThanOrEqual(3);
    add('early', 100);
    const back = summary.boundsOf(new ItemKey('early', testHash));
    expect(back.lower).toBe(100);
    expect(back.upper).toBeGreaterThanOrEqual(103);
    expect(brokenPromises(summary, oracle)).toEqual([]);
  });

  it('gives the same answer wherever the same events are counted: nothing is left to chance', () => {
    for (const { generate } of DATASETS) {
      const events = generate(500, 3);
      const [primary, replica] = [1, 2].map(() => WAYS['one by one'](events, smallContext)) as [
        Summary,
        Summary,
      ];
      expect(hexOf(primary)).toBe(hexOf(replica));
    }
  });

  it('shows an item on one way exactly when it shows it on the other', () => {
    const summary = WAYS['one by one'](DATASETS[2]!.generate(500, 1), smallContext);
    const visited: string[] = [];
    summary.listed.forEach((item, upper, lower) => {
      visited.push(item);
      const key = new ItemKey(item, testHash);
      expect(summary.listed.boundsOf(key)).toMatchObject({ upper, lower });
      expect(summary.boundsOf(key)).toMatchObject({ upper, lower });
    });
    expect(new Set(visited).size).toBe(summary.itemCount);
    expect(visited).toHaveLength(summary.listed.size);
  });

  it('has clones that do not change with it, nor it with them', () => {
    for (const context of [smallContext, closedContext]) {
      const summary = WAYS['one by one'](DATASETS[2]!.generate(300, 1), context);
      for (let actor = 0; actor < 20; actor += 1) {
        summary.add('page', 1, { lo: actor, hi: 7 });
      }
      const before = hexOf(summary);
      const copy = summary.clone();
      expect(hexOf(copy)).toBe(before);
      copy.add('new', 7, { lo: 1, hi: 1 });
      copy.add('new', 7, null);
      expect(hexOf(summary)).toBe(before);
      const changed = hexOf(copy);
      summary.add('other', 5, { lo: 2, hi: 2 });
      expect(hexOf(copy)).toBe(changed);
    }
  });

  it('refuses to be merged with itself or with one under another hash key', () => {
    const summary = new Summary(smallContext);
    expect(() => summary.merge(summary)).toThrow(AssertionFailure);
    expect(() => summary.merge(new Summary(contextOf(9, SMALL_SHAPE)))).toThrow(AssertionFailure);
  });

  it('says about how much memory it takes', () => {
    const empty = new Summary(closedContext).byteLength;
    expect(empty).toBeLessThan(1000);
    const exact = new Summary(closedContext);
    for (let number = 0; number < 1000; number += 1) exact.add(`item-${number}`, 1, null);
    expect(exact.byteLength).toBeGreaterThan(1000 * 60);
    for (let number = 1000; number < 17_000; number += 1) exact.add(`item-${number}`, 1, null);
    const cells = 5 * 16_384 * 4;
    expect(exact.byteLength).toBeGreaterThan(cells + 2000 * 60);
    expect(exact.byteLength).toBeLessThan(cells + 2000 * 300);
    exact.add('many', 2 ** 33, null);
    expect(exact.byteLength).toBeGreaterThan(2 * cells);
  });
});
