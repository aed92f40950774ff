import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { CLOSED_SHAPE, type Summary, type SummaryShape } from '../../src/sketches/summary.ts';
import {
  decodeSummary,
  encodeColumns,
  encodeSummaryUnordered,
} from '../../src/sketches/summary-codec.ts';
import { ViewersView } from '../../src/sketches/viewers-view.ts';
import {
  eventLists,
  mergeOf,
  type SummaryEvent,
  summaryOf,
  testHash,
} from '../support/summary-events.ts';
import { ViewersOracle } from '../support/viewers-oracle.ts';
import { ZipfSampler } from '../support/zipf.ts';

function contextOf(shape: SummaryShape) {
  return { hash: testHash, shape };
}

function viewOf(...summaries: readonly Summary[]): ViewersView {
  return new ViewersView(summaries, testHash);
}

/** So narrow that items, pairs, or both are soon more than fit. */
const NARROW: Record<string, SummaryShape> = {
  'that keep all pairs': CLOSED_SHAPE,
  'that keep few pairs and a few items': { ...CLOSED_SHAPE, exactPairs: 5, viewerBytes: 120 },
  'that keep few pairs of any item': { ...CLOSED_SHAPE, exactPairs: 5, viewerBytes: 100_000 },
  'with sketched items too': {
    ...CLOSED_SHAPE,
    width: 16,
    depth: 2,
    candidates: 4,
    exactItems: 6,
    viewerBytes: 120,
  },
};

/** All in one, or each by itself, or stored and read in between. */
function groupingsOf(lists: readonly SummaryEvent[][], shape: SummaryShape): ViewersView[] {
  const context = contextOf(shape);
  const parts = lists.map((list) => summaryOf(list, context));
  const stored = parts.map((part) => {
    const { counts, viewers } = encodeColumns(part);
    return decodeSummary(counts, context, viewers ?? undefined);
  });
  const [first, ...rest] = parts as [Summary, ...Summary[]];
  const [last, ...before] = [...stored].reverse() as [Summary, ...Summary[]];
  return [
    viewOf(...parts),
    viewOf(mergeOf(first, ...rest)),
    viewOf(mergeOf(last, ...before)),
    viewOf(mergeOf(first), mergeOf(last, ...before.slice(0, -1))),
  ];
}

const parts = fc.array(eventLists, { minLength: 2, maxLength: 4 });

describe.each(Object.entries(NARROW))('views of summaries %s', (_name, shape) => {
  it('hold the bounds of every item, whatever was merged with what', () => {
    fc.assert(
      fc.property(parts, (lists) => {
        const oracle = ViewersOracle.of(lists.flat());
        for (const view of groupingsOf(lists, shape)) {
          for (const item of [...oracle.items, 'never seen']) {
            const truth = oracle.viewersOf(item);
            const { lower, estimate, upper, exact } = view.viewersOf(item);
            expect(lower).toBeLessThanOrEqual(truth);
            expect(upper).toBeGreaterThanOrEqual(truth);
            expect(estimate).toBeGreaterThanOrEqual(lower);
            expect(estimate).toBeLessThanOrEqual(upper);
            if (exact) expect([lower, upper]).toEqual([truth, truth]);
          }
        }
      }),
    );
  });

  it('list the items with most, and nobody beyond has more than they say', () => {
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 8 }), fc.nat(3), (lists, k, hiddenCount) => {
        const oracle = ViewersOracle.of(lists.flat());
        const hidden = new Set(oracle.items.slice(0, hiddenCount));
        for (const view of groupingsOf(lists, shape)) {
          const { rows, maxUnlisted } = view.topByViewers(k, (item) => hidden.has(item));
          expect(rows.length).toBeLessThanOrEqual(k);
          expect(rows).toEqual(
            rows.toSorted((a, b) => b.estimate - a.estimate || compareUtf8(a.item, b.item)),
          );
          const listed = new Set(rows.map(({ item }) => item));
          expect(listed.size).toBe(rows.length);
          for (const { item, events, ...viewers } of rows) {
            expect(hidden.has(item)).toBe(false);
            expect(viewers).toEqual(view.viewersOf(item));
            expect(events).toBeGreaterThanOrEqual(oracle.eventsOf(item));
            expect(viewers.upper).toBeLessThanOrEqual(events);
          }
          for (const item of oracle.items) {
            if (listed.has(item) || hidden.has(item)) continue;
            expect(oracle.viewersOf(item)).toBeLessThanOrEqual(maxUnlisted);
          }
        }
      }),
    );
  });
});

/** Zipf items of many summaries, as an hour has minutes. */
function zipfLists(listCount: number, seed: number): SummaryEvent[][] {
  const prng = new Prng(seed);
  const sampler = new ZipfSampler(2_000, 1);
  return Array.from({ length: listCount }, () =>
    Array.from({ length: 3_000 }, () => ({
      item: `/item/${sampler.next(prng)}`,
      count: 1,
      actor: prng.chance(0.05) ? null : `visitor-${prng.nextInt(1_500)}`,
    })),
  );
}

describe('the top by actors', () => {
  const lists = zipfLists(12, 1);
  const oracle = ViewersOracle.of(lists.flat());
  const truth = oracle.items
    .map((item) => ({ item, viewers: oracle.viewersOf(item) }))
    .sort((a, b) => b.viewers - a.viewers || compareUtf8(a.item, b.item));

  it.each([1, 10, 100])('is the true one where all pairs are kept: the first %i', (k) => {
    const view = viewOf(...lists.map((list) => summaryOf(list, contextOf(CLOSED_SHAPE))));
    const { rows, maxUnlisted } = view.topByViewers(k);
    const first = rows.map(({ item, estimate }) => ({ item, viewers: estimate }));
    expect(first).toEqual(truth.slice(0, k));
    expect(rows.every(({ exact }) => exact)).toBe(true);
    expect(maxUnlisted).toBe(truth[k]!.viewers);
  });

  it('is near the true one where registers are kept for the first items only', () => {
    const shape = { ...CLOSED_SHAPE, exactPairs: 1_000, viewerBytes: 24_000 };
    const view = viewOf(...lists.map((list) => summaryOf(list, contextOf(shape))));
    const { rows, maxUnlisted } = view.topByViewers(10);
    const wanted = truth.slice(0, 20).map(({ item }) => item);
    expect(rows.some(({ exact }) => exact)).toBe(true);
    expect(rows.some(({ exact }) => !exact)).toBe(true);
    for (const { item, lower, upper } of rows) {
      expect(wanted).toContain(item);
      // Twice the margin of a bound that holds in 95 of 100 cases: all seeds are fixed.
      expect(lower).toBeLessThan(oracle.viewersOf(item) * 1.07);
      expect(upper).toBeGreaterThan(oracle.viewersOf(item) * 0.93);
    }
    const listed = new Set(rows.map(({ item }) => item));
    const others = truth.filter(({ item }) => !listed.has(item));
    expect(maxUnlisted).toBeGreaterThanOrEqual(others[0]!.viewers);
  });

  it('counts an actor of a thousand events once', () => {
    const bot = Array.from({ length: 1_000 }, () => ({ item: 'bot', count: 1, actor: 'bot' }));
    const people = ['a', 'b', 'c'].map((actor) => ({ item: 'people', count: 1, actor }));
    for (const shape of [CLOSED_SHAPE, { ...CLOSED_SHAPE, exactPairs: 2 }]) {
      const context = contextOf(shape);
      const summaries = [bot, people, bot, people].map((list) => summaryOf(list, context));
      const [first, ...others] = summaries as [Summary, ...Summary[]];
      for (const view of [viewOf(...summaries), viewOf(mergeOf(first, ...others))]) {
        expect(view.topByViewers(2).rows.map(({ item, estimate }) => [item, estimate])).toEqual([
          ['people', 3],
          ['bot', 1],
        ]);
      }
    }
  });

  it('lists the same items in whatever order those without actors came', () => {
    // Room for one of the three that have an actor.
    const shape = { ...CLOSED_SHAPE, exactPairs: 1, viewerBytes: 100 };
    const seen = ['a', 'b', 'c'].map((item) => ({ item, count: 1, actor: 'x' }));
    const unseen = { item: 'd', count: 1, actor: null };
    const tops = [
      [...seen, unseen],
      [unseen, ...seen],
    ].map((list) => {
      const target = summaryOf([], contextOf(shape));
      target.merge(summaryOf(list, contextOf(CLOSED_SHAPE)));
      return viewOf(target).topByViewers(3);
    });
    expect(tops[0]!.rows.map(({ item }) => item)).toEqual(['a']);
    expect(tops[1]).toEqual(tops[0]);
  });

  it('adds up what each of two summaries may have missed of an item', () => {
    const context = contextOf(CLOSED_SHAPE);
    const withLost = (lost: readonly string[], known: string): Summary => {
      const old = summaryOf(
        lost.map((actor) => ({ item: 'a', count: 1, actor })),
        context,
      );
      old.loseViewers();
      return mergeOf(old, summaryOf([{ item: 'a', count: 1, actor: known }], context));
    };
    const both = mergeOf(withLost(['p', 'q', 'r'], 's'), withLost(['t', 'u'], 'v'));
    expect(viewOf(both).viewersOf('a')).toMatchObject({ estimate: 2, lower: 2, upper: 7 });
  });

  it('is empty without actors, and without summaries', () => {
    const nobody = summaryOf([{ item: 'a', count: 5, actor: null }], contextOf(CLOSED_SHAPE));
    for (const view of [viewOf(nobody), viewOf()]) {
      expect(view.topByViewers(3)).toEqual({ rows: [], maxUnlisted: 0 });
      expect(view.viewersOf('a')).toMatchObject({ estimate: 0, upper: 0, exact: true });
    }
  });

  it('reads parts in no order as well', () => {
    const context = contextOf(CLOSED_SHAPE);
    const read = lists
      .slice(0, 3)
      .map((list) => decodeSummary(encodeSummaryUnordered(summaryOf(list, context)), context));
    const written = lists.slice(0, 3).map((list) => summaryOf(list, context));
    expect(viewOf(...read).topByViewers(20)).toEqual(viewOf(...written).topByViewers(20));
  });
});
