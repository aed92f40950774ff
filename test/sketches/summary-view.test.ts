import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { type Candidate, compareCandidates } from '../../src/sketches/candidate.ts';
import { guaranteeOf } from '../../src/sketches/count-min.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { Summary, type SummaryContext, type SummaryShape } from '../../src/sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../../src/sketches/summary-codec.ts';
import { SummaryView, type TopOfView } from '../../src/sketches/summary-view.ts';
import { CountOracle } from '../support/oracle.ts';
import {
  addEvents,
  brokenBounds,
  closedContext,
  eventLists,
  shapes,
  SMALL_SHAPE,
  smallContext,
  type SummaryEvent,
  summaryOf,
  testHash,
} from '../support/summary-events.ts';
import { ZipfSampler } from '../support/zipf.ts';

const { MAX_SAFE_INTEGER } = Number;

function viewOf(...summaries: readonly Summary[]): SummaryView {
  return new SummaryView(summaries, testHash);
}

function once(item: string, count = 1, actor: string | null = null): SummaryEvent {
  return { item, count, actor };
}

/** Every listed item, looked up: none is left out early. */
function simpleRanking(view: SummaryView): Candidate[] {
  const items = new Set<string>();
  for (const { listed } of view.summaries) listed.forEach((item) => items.add(item));
  return [...items].map((item) => ({ item, ...view.countOf(item) })).sort(compareCandidates);
}

/** The answer as its promise says it. */
function simpleTop(view: SummaryView, k: number, ranking = simpleRanking(view)): TopOfView {
  const cutSum = view.summaries.reduce((sum, { cut }) => sum + cut, 0);
  return { rows: ranking.slice(0, k), maxUnlisted: Math.max(cutSum, ranking[k]?.upper ?? 0) };
}

interface Bucket {
  readonly summary: Summary;
  readonly events: readonly SummaryEvent[];
}

/** Summaries of one hash key, each of its own shape but for the cells, some by way of bytes. */
const buckets: fc.Arbitrary<Bucket[]> = fc
  .tuple(
    shapes,
    fc.array(fc.tuple(eventLists, shapes, fc.boolean()), { minLength: 1, maxLength: 5 }),
  )
  .map(([{ width, depth }, lists]) =>
    lists.map(([events, other, isStored]) => {
      const context: SummaryContext = { hash: testHash, shape: { ...other, width, depth } };
      const summary = summaryOf(events, context);
      return {
        events,
        summary: isStored ? decodeSummary(encodeSummary(summary), context) : summary,
      };
    }),
  );

function oracleOf(lists: readonly Bucket[]): CountOracle {
  const oracle = new CountOracle();
  for (const { item, count } of lists.flatMap(({ events }) => events)) oracle.add(item, count);
  return oracle;
}

/** An hour of Zipf events in minutes that are sketched, with drifting heads if asked for. */
function zipfMinutes(
  shape: Partial<SummaryShape>,
  { minutes = 12, events = 2000, items = 3000, exponent = 1, drift = 0, seed = 1 } = {},
): { view: SummaryView; oracle: CountOracle } {
  const context = { hash: testHash, shape: { ...SMALL_SHAPE, ...shape } };
  const sampler = new ZipfSampler(items, exponent);
  const prng = new Prng(seed);
  const oracle = new CountOracle();
  const summaries = Array.from({ length: minutes }, (_, minute) => {
    const summary = new Summary(context);
    for (let event = 0; event < events; event += 1) {
      const item = `/item/${(sampler.next(prng) + minute * drift) % items}`;
      summary.add(item, 1, null);
      oracle.add(item, 1);
    }
    return decodeSummary(encodeSummary(summary), context);
  });
  return { view: viewOf(...summaries), oracle };
}

describe('the top of a view', () => {
  it('is what looking every listed item up would give, for small summaries of any kind', () => {
    fc.assert(
      fc.property(buckets, fc.integer({ min: 1, max: 12 }), (list, k) => {
        const view = viewOf(...list.map(({ summary }) => summary));
        expect(view.top(k)).toEqual(simpleTop(view, k));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    { exponent: 0, drift: 0 },
    { exponent: 0.8, drift: 0 },
    { exponent: 1, drift: 0 },
    { exponent: 1, drift: 3 },
    { exponent: 1.5, drift: 0 },
  ])('is the same for minutes of hundreds of candidates and any k: %o', (kind) => {
    for (const candidates of [40, 400]) {
      for (let seed = 1; seed <= 3; seed += 1) {
        const shape = { width: 1024, depth: 4, candidates, exactItems: 100, exactItemBytes: 1e6 };
        const { view } = zipfMinutes(shape, { ...kind, seed });
        const ranking = simpleRanking(view);
        for (const k of [1, 2, 3, 10, 50, 500]) {
          expect({ candidates, seed, k, ...view.top(k) }).toEqual({
            candidates,
            seed,
            k,
            ...simpleTop(view, k, ranking),
          });
        }
      }
    }
  });

  it('is the same for exact tables, and for summaries of very different totals', () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      const { view: exact } = zipfMinutes({ exactItems: 10_000, exactItemBytes: 1e6 }, { seed });
      expect(exact.itemsExact).toBe(true);
      const { view: large } = zipfMinutes(
        { width: 1024, depth: 4, candidates: 300, exactItems: 10 },
        { minutes: 1, events: 20_000, seed: seed + 100 },
      );
      const { view: small } = zipfMinutes(
        { width: 1024, depth: 4, candidates: 300, exactItems: 10 },
        { minutes: 5, events: 300, seed: seed + 200 },
      );
      const mixed = viewOf(...large.summaries, ...small.summaries);
      for (const view of [exact, mixed]) {
        const ranking = simpleRanking(view);
        for (const k of [1, 5, 30]) expect(view.top(k)).toEqual(simpleTop(view, k, ranking));
      }
    }
  });

  it('keeps all promises: each row and each item within its bounds, no other above maxUnlisted', () => {
    fc.assert(
      fc.property(buckets, fc.integer({ min: 1, max: 12 }), (list, k) => {
        const view = viewOf(...list.map(({ summary }) => summary));
        const oracle = oracleOf(list);
        expect(brokenBounds(view, oracle)).toEqual([]);
        const { rows, maxUnlisted } = view.top(k);
        expect(rows.length).toBeLessThanOrEqual(k);
        for (const { item, lower, upper } of rows) {
          expect(oracle.countOf(item)).toBeGreaterThanOrEqual(lower);
          expect(oracle.countOf(item)).toBeLessThanOrEqual(upper);
        }
        const listed = new Set(rows.map(({ item }) => item));
        expect(listed.size).toBe(rows.length);
        for (const item of oracle.items.filter((name) => !listed.has(name))) {
          expect(oracle.countOf(item)).toBeLessThanOrEqual(maxUnlisted);
        }
        expect(view.total).toBe(oracle.total);
      }),
      { numRuns: 300 },
    );
  });

  it('is exact, with rows in order of count and bytes, while every summary is', () => {
    fc.assert(
      fc.property(
        fc.array(eventLists, { maxLength: 4 }),
        fc.integer({ min: 1, max: 40 }),
        (lists, k) => {
          const view = viewOf(...lists.map((events) => summaryOf(events, closedContext)));
          const oracle = new CountOracle();
          for (const { item, count } of lists.flat()) oracle.add(item, count);
          const ranking = oracle.ranking();
          expect(view.itemsExact).toBe(true);
          expect(view.errorBound).toBe(0);
          expect(view.top(k)).toEqual({
            rows: ranking
              .slice(0, k)
              .map(({ item, count }) => ({ item, upper: count, lower: count })),
            maxUnlisted: ranking[k]?.count ?? 0,
          });
        },
      ),
    );
  });

  it('finds what is spread evenly when what the search looks at first is not', () => {
    // Every second summary is looked at first: what is on top there is nowhere else.
    const summaries = Array.from({ length: 16 }, (_, index) => {
      const summary = new Summary(closedContext);
      for (let item = 0; item < 20; item += 1) {
        const name = index % 2 === 0 ? `often ${item}` : `once ${index} ${item}`;
        summary.add(name, 1_000 + item, null);
      }
      for (let item = 0; item < 5; item += 1) summary.add(`even ${item}`, 520, null);
      for (let item = 0; item < 1_000; item += 1) summary.add(`rare ${index} ${item}`, 1, null);
      return summary;
    });
    const view = viewOf(...summaries);
    const { rows } = view.top(5);
    expect(rows.map(({ item }) => item)).toEqual([0, 1, 2, 3, 4].map((item) => `even ${item}`));
    expect(view.top(10)).toEqual(simpleTop(view, 10));
  });

  it('does not depend on the order of the summaries', () => {
    fc.assert(
      fc.property(buckets, fc.integer({ min: 1, max: 12 }), (list, k) => {
        const summaries = list.map(({ summary }) => summary);
        expect(viewOf(...summaries.reverse()).top(k)).toEqual(viewOf(...summaries).top(k));
      }),
    );
  });

  it('ranks what returns in every bucket above what is fresh in each: no error is inherited', () => {
    const fill = (context: SummaryContext): Summary[] =>
      [1, 2, 3, 4, 5].map((bucket) =>
        summaryOf(
          [
            ...['a', 'b', 'c'].map((name) => once(`fresh-${name}-${bucket}`, 3)),
            once('d', 2),
            once('e', 2),
          ],
          context,
        ),
      );
    const { rows } = viewOf(...fill(closedContext)).top(10);
    expect(rows.slice(0, 2).map(({ item, upper, lower }) => [item, upper, lower])).toEqual([
      ['d', 10, 10],
      ['e', 10, 10],
    ]);
    expect(rows.slice(2).map(({ upper, lower }) => [upper, lower])).toEqual(Array(8).fill([3, 3]));
    const merged = new Summary(closedContext);
    for (const summary of fill(closedContext)) merged.merge(summary);
    expect(viewOf(merged).top(10)).toEqual(viewOf(...fill(closedContext)).top(10));
  });

  it('has as many rows as were asked for when there are as many items', () => {
    const thousand = summaryOf(
      Array.from({ length: 1000 }, (_, index) => once(`item-${index}`)),
      closedContext,
    );
    expect(viewOf(thousand).top(100).rows).toHaveLength(100);
    expect(viewOf(thousand, thousand.clone()).top(1000).rows).toHaveLength(1000);
    expect(viewOf(thousand).top(2000).rows).toHaveLength(1000);
    expect(viewOf().top(10)).toEqual({ rows: [], maxUnlisted: 0 });
  });

  it('admits that an item may be on top which no bucket lists', () => {
    // In each bucket four others are ahead; over all buckets "second" is by far the most frequent.
    const lists = Array.from({ length: 10 }, (_, bucket) => [
      ...[1, 2, 3, 4].map((number) => once(`first-${bucket}-${number}`, 10)),
      once('second', 9),
      ...[1, 2, 3].map((number) => once(`last-${bucket}-${number}`, 1)),
    ]);
    const summaries = lists.map((events) => summaryOf(events));
    const view = viewOf(...summaries);
    expect(view.itemsExact).toBe(false);
    const { rows, maxUnlisted } = view.top(3);
    expect(rows.map(({ item }) => item)).not.toContain('second');
    expect(maxUnlisted).toBeGreaterThanOrEqual(90);
    expect(view.countOf('second').upper).toBeGreaterThanOrEqual(90);
    expect(view.countOf('second').lower).toBe(0);
  });

  it('says of an item never seen that it may be anything below the noise, and no more', () => {
    const { view } = zipfMinutes(
      { width: 64, depth: 4, candidates: 16, exactItems: 20 },
      { minutes: 1, events: 20_000, items: 10_000, exponent: 0.5 },
    );
    for (let number = 0; number < 100; number += 1) {
      const { lower, upper } = view.countOf(`never seen ${number}`);
      expect(lower).toBe(0);
      expect(upper).toBeLessThanOrEqual(view.top(5).maxUnlisted);
      expect(upper).toBeLessThanOrEqual(view.summaries[0]!.cut);
    }
  });

  it('stops at 2^53 - 1 and says that it is saturated', () => {
    const huge = summaryOf([once('a', MAX_SAFE_INTEGER)], closedContext);
    const view = viewOf(huge, summaryOf([once('a', 1)], closedContext));
    expect(viewOf(huge).saturated).toBe(false);
    expect(view.saturated).toBe(true);
    expect(view.total).toBe(MAX_SAFE_INTEGER);
    expect(view.countOf('a').upper).toBe(MAX_SAFE_INTEGER);
    expect(view.top(1).rows[0]!.upper).toBe(MAX_SAFE_INTEGER);
  });
});

describe('the error bound of a view', () => {
  it('adds epsilon * total of each summary that is sketched, and nothing for the exact', () => {
    const exact = summaryOf([once('a', 1000)], smallContext);
    const sketched = summaryOf(
      Array.from({ length: 10 }, (_, index) => once(`item-${index}`, 100)),
      smallContext,
    );
    const { epsilon } = guaranteeOf(SMALL_SHAPE);
    expect(viewOf(exact).errorBound).toBe(0);
    expect(viewOf(exact, sketched).errorBound).toBe(Math.ceil(epsilon * 1000));
    expect(viewOf(sketched, sketched.clone()).errorBound).toBe(Math.ceil(epsilon * 2000));
  });
});

describe('the distinct actors of a view', () => {
  it('are counted exactly as long as every summary knows them all', () => {
    fc.assert(
      fc.property(fc.array(eventLists, { maxLength: 4 }), (lists) => {
        const view = viewOf(...lists.map((events) => summaryOf(events, closedContext)));
        const actors = new Set(lists.flat().flatMap(({ actor }) => actor ?? []));
        const { size } = actors;
        expect(view.distinct()).toEqual({
          estimate: size,
          lower: size,
          upper: size,
          standardError: 0,
          exact: true,
        });
        const without = lists.flat().filter(({ actor }) => actor === null);
        expect(view.withoutActor).toBe(without.reduce((sum, { count }) => sum + count, 0));
      }),
    );
  });

  it('are one for one actor and event, whatever the length of the window', () => {
    const seen = summaryOf([once('page', 1, 'visitor')], closedContext);
    const empty = new Summary(closedContext);
    expect(viewOf(seen).distinct().estimate).toBe(1);
    expect(viewOf(empty, seen, empty.clone(), empty.clone()).distinct().estimate).toBe(1);
  });

  it('are one when the same actor comes in two buckets', () => {
    const january = summaryOf([once('page', 1, 'visitor')], closedContext);
    const february = summaryOf([once('other', 1, 'visitor')], closedContext);
    expect(viewOf(january, february).distinct().estimate).toBe(1);
  });

  it('are never more than the events with an actor, nor fewer than known exactly', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const actorCount = 6 + seed * 7;
      const events = Array.from({ length: actorCount }, (_, index) =>
        once('page', 1, `visitor-${seed}-${index}`),
      );
      const view = viewOf(
        summaryOf([...events, once('page', 50, null)]),
        summaryOf([once('page', 1, 'another')]),
      );
      const { estimate, lower, upper, exact, standardError } = view.distinct();
      expect(exact).toBe(false);
      expect(standardError).toBe(HyperLogLog.standardError);
      expect(lower).toBeLessThanOrEqual(estimate);
      expect(estimate).toBeLessThanOrEqual(upper);
      expect(upper).toBeLessThanOrEqual(view.total - view.withoutActor);
      expect(lower).toBeGreaterThanOrEqual(1);
    }
  });

  it('lie within the 95 % bounds about as often as these say', () => {
    const setCount = 400;
    let within = 0;
    for (let seed = 1; seed <= setCount; seed += 1) {
      const summary = new Summary(smallContext);
      summary.add('page', 10_000, null);
      const prng = new Prng(seed);
      for (let actor = 0; actor < 3000; actor += 1) {
        summary.add('page', 1, { lo: prng.nextUint32(), hi: prng.nextUint32() });
      }
      const { lower, upper } = viewOf(summary).distinct();
      if (lower <= 3000 && 3000 <= upper) within += 1;
    }
    // Below 10^4 actors the estimator is better than its standard error for large sets.
    expect(within / setCount).toBeGreaterThan(0.95);
  });

  it('are the union of exact sets and registers, equal to those of all events in one summary', () => {
    fc.assert(
      fc.property(fc.array(eventLists, { minLength: 1, maxLength: 4 }), (lists) => {
        const whole = new Summary(smallContext);
        for (const events of lists) addEvents(whole, events);
        const view = viewOf(...lists.map((events) => summaryOf(events)));
        const { estimate } = viewOf(whole).distinct();
        // A single summary may be sketched where the parts together know every actor exactly.
        if (!view.distinct().exact) expect(view.distinct().estimate).toBe(estimate);
        else expect(Math.abs(view.distinct().estimate - estimate)).toBeLessThanOrEqual(1);
      }),
    );
  });
});
