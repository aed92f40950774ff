import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { type Candidate, compareCandidates } from '../../src/sketches/candidate.ts';
import type { Summary } from '../../src/sketches/summary.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { CountOracle } from '../support/oracle.ts';
import {
  addEvents,
  closedContext,
  eventLists,
  SMALL_SHAPE,
  shapes,
  type SummaryEvent,
  summaryOf,
  testHash,
} from '../support/summary-events.ts';
import { ZipfSampler } from '../support/zipf.ts';

/** Powers of two: products and sums of them are exact in floating point. */
const weight = fc.constantFrom(1, 0.5, 0.25, 0.125, 0);

interface Case {
  readonly lists: readonly SummaryEvent[][];
  readonly summaries: readonly Summary[];
  readonly options: {
    readonly weights: readonly number[];
    readonly isHidden: (item: string) => boolean;
  };
}

const cases: fc.Arbitrary<Case> = fc
  .array(fc.tuple(eventLists, shapes, weight), { minLength: 1, maxLength: 5 })
  .chain((parts) =>
    fc.integer({ min: 0, max: 3 }).map((hidden) => ({
      lists: parts.map(([events]) => events),
      summaries: parts.map(([events, shape]) => summaryOf(events, { hash: testHash, shape })),
      options: {
        weights: parts.map(([, , each]) => each),
        isHidden: (item: string) => hidden > 0 && item.length % (hidden + 1) === 0,
      },
    })),
  );

/** Every listed item, looked up, as the promise says it. */
function simpleRanking({ summaries, options }: Case): Candidate[] {
  const view = new SummaryView(summaries, testHash, { weights: options.weights });
  const items = new Set<string>();
  for (const { listed } of summaries) listed.forEach((item) => items.add(item));
  return [...items]
    .filter((item) => !options.isHidden(item))
    .map((item) => ({ item, ...view.countOf(item) }))
    .sort(compareCandidates);
}

function weightedOracle({ lists, options }: Case): CountOracle {
  const oracle = new CountOracle();
  for (const [index, events] of lists.entries()) {
    for (const { item, count } of events) oracle.add(item, count * options.weights[index]!);
  }
  return oracle;
}

describe('a view with weights and without hidden items', () => {
  it('has the top that looking every shown item up would give', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 6 }), (each, k) => {
        const ranking = simpleRanking(each);
        const { rows, maxUnlisted } = new SummaryView(each.summaries, testHash, each.options).top(
          k,
        );
        expect(rows).toEqual(ranking.slice(0, k));
        expect(maxUnlisted).toBeGreaterThanOrEqual(ranking[k]?.upper ?? 0);
      }),
    );
  });

  it('keeps every weighted count within its bounds', () => {
    fc.assert(
      fc.property(cases, (each) => {
        const view = new SummaryView(each.summaries, testHash, each.options);
        const oracle = weightedOracle(each);
        for (const item of [...oracle.items, 'never seen']) {
          const { lower, upper } = view.countOf(item);
          const truth = oracle.countOf(item);
          expect(lower <= truth && truth <= upper).toBe(true);
        }
      }),
    );
  });

  it('lists all shown items with a lower bound of so much, and no other', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 40 }), (each, least) => {
        const view = new SummaryView(each.summaries, testHash, each.options);
        const expected = simpleRanking(each).filter(({ lower }) => lower >= least);
        expect(view.listedAbove(least)).toEqual(expected);
      }),
    );
  });

  it('finds the same by its short cut as by looking at all, where many minutes are sketched', () => {
    const prng = new Prng(5);
    const sampler = new ZipfSampler(2_000, 1);
    const shape = { ...SMALL_SHAPE, width: 1_024, candidates: 100 };
    const lists = Array.from({ length: 12 }, () =>
      Array.from({ length: 1_500 }, () => ({
        item: `/item/${sampler.next(prng)}`,
        count: 1,
        actor: null,
      })),
    );
    const summaries = lists.map((events) => summaryOf(events, { hash: testHash, shape }));
    const weights = lists.map((_, index) => 2 ** -(index % 4));
    const isHidden = (item: string): boolean => item.endsWith('7') || item === '/item/0';
    const each: Case = { lists, summaries, options: { weights, isHidden } };
    const ranking = simpleRanking(each);
    for (const k of [1, 5, 20, 80]) {
      const { rows } = new SummaryView(summaries, testHash, each.options).top(k);
      expect(rows).toEqual(ranking.slice(0, k));
    }
  });

  it('leaves total and different actors as they are', () => {
    const events = [
      { item: 'a', count: 3, actor: 'x' },
      { item: 'b', count: 2, actor: 'y' },
    ];
    const summary = summaryOf([], closedContext);
    addEvents(summary, events);
    const options = { weights: [0.5], isHidden: () => true };
    const view = new SummaryView([summary], testHash, options);
    expect(view.total).toBe(5);
    expect(view.distinct().estimate).toBe(2);
    expect(view.top(5).rows).toEqual([]);
  });
});
