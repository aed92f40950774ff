import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { ItemKey } from '../../src/sketches/item-key.ts';
import { type Summary, type SummaryContext } from '../../src/sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../../src/sketches/summary-codec.ts';
import { PairTable } from '../../src/sketches/pair-table.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { CountOracle } from '../support/oracle.ts';
import {
  brokenBounds,
  eventLists,
  hexOf,
  lawfulPartOf,
  mergeOf,
  shapes,
  type SummaryEvent,
  summaryOf,
  testHash,
} from '../support/summary-events.ts';

const contexts: fc.Arbitrary<SummaryContext> = shapes.map((shape) => ({ hash: testHash, shape }));

function oracleOf(...lists: readonly (readonly SummaryEvent[])[]): CountOracle {
  const oracle = new CountOracle();
  for (const { item, count } of lists.flat()) oracle.add(item, count);
  return oracle;
}

/** All promises about counts: bounds of each item, and the cut-off for those not listed. */
function expectPromisesKept(summary: Summary, oracle: CountOracle): void {
  expect(summary.total).toBe(oracle.total);
  expect(brokenBounds(new SummaryView([summary], testHash), oracle)).toEqual([]);
  const unlisted = oracle.items.filter(
    (item) => summary.listed.boundsOf(new ItemKey(item, testHash)) === undefined,
  );
  for (const item of unlisted) expect(oracle.countOf(item)).toBeLessThanOrEqual(summary.cut);
}

describe('merging summaries', () => {
  it('is commutative', () => {
    fc.assert(
      fc.property(contexts, eventLists, eventLists, (context, listA, listB) => {
        const [a, b] = [summaryOf(listA, context), summaryOf(listB, context)];
        expect(lawfulPartOf(mergeOf(a, b))).toBe(lawfulPartOf(mergeOf(b, a)));
        expectPromisesKept(mergeOf(a, b), oracleOf(listA, listB));
        expectPromisesKept(mergeOf(b, a), oracleOf(listA, listB));
      }),
    );
  });

  it('gives the same bytes in either order where two summaries meet', () => {
    fc.assert(
      fc.property(contexts, eventLists, eventLists, (context, listA, listB) => {
        const ab = summaryOf(listA, context);
        ab.merge(summaryOf(listB, context));
        const ba = summaryOf(listB, context);
        ba.merge(summaryOf(listA, context));
        expect(hexOf(ab)).toBe(hexOf(ba));
      }),
    );
  });

  it('is associative', () => {
    fc.assert(
      fc.property(contexts, eventLists, eventLists, eventLists, (context, listA, listB, listC) => {
        const [a, b, c] = [listA, listB, listC].map((list) => summaryOf(list, context)) as [
          Summary,
          Summary,
          Summary,
        ];
        const left = mergeOf(mergeOf(a, b), c);
        const right = mergeOf(a, mergeOf(b, c));
        expect(lawfulPartOf(left)).toBe(lawfulPartOf(right));
        expectPromisesKept(left, oracleOf(listA, listB, listC));
        expectPromisesKept(right, oracleOf(listA, listB, listC));
      }),
    );
  });

  it('has the empty summary as its identity, byte for byte, on both sides', () => {
    fc.assert(
      fc.property(contexts, eventLists, (context, list) => {
        const whole = summaryOf(list, context);
        const before = hexOf(whole);
        const empty = summaryOf([], context);
        whole.merge(empty);
        expect(hexOf(whole)).toBe(before);
        empty.merge(whole);
        expect(hexOf(empty)).toBe(before);
      }),
    );
  });

  it('of parts is the summary of the whole', () => {
    fc.assert(
      fc.property(contexts, fc.array(eventLists, { maxLength: 6 }), (context, lists) => {
        const parts = lists.map((list) => summaryOf(list, context));
        const whole = summaryOf(lists.flat(), context);
        const merged = mergeOf(summaryOf([], context), ...parts);
        expect(lawfulPartOf(merged)).toBe(lawfulPartOf(whole));
        if (whole.viewers instanceof PairTable) expect(hexOf(merged)).toBe(hexOf(whole));
        expectPromisesKept(merged, oracleOf(...lists));
        expectPromisesKept(whole, oracleOf(...lists));
      }),
    );
  });

  it('keeps every promise in any grouping of many parts, some of them by way of bytes', () => {
    fc.assert(
      fc.property(
        contexts,
        fc.array(eventLists, { minLength: 1, maxLength: 8 }),
        fc.integer(),
        (context, lists, seed) => {
          const prng = new Prng(seed);
          const parts = lists.map((list) => summaryOf(list, context));
          while (parts.length > 1) {
            const [taken] = parts.splice(prng.nextInt(parts.length), 1) as [Summary];
            const target = parts[prng.nextInt(parts.length)]!;
            target.merge(prng.chance(0.5) ? decodeSummary(encodeSummary(taken), context) : taken);
          }
          expectPromisesKept(parts[0]!, oracleOf(...lists));
          const whole = summaryOf(lists.flat(), context);
          expect(lawfulPartOf(parts[0]!)).toBe(lawfulPartOf(whole));
        },
      ),
    );
  });

  it('leaves its argument as it was, also when the target goes on', () => {
    fc.assert(
      fc.property(contexts, eventLists, eventLists, (context, listA, listB) => {
        const a = summaryOf(listA, context);
        const b = summaryOf(listB, context);
        const before = hexOf(b);
        a.merge(b);
        a.add('/item/0', 1, { lo: 1, hi: 2 });
        expect(hexOf(b)).toBe(before);
        const merged = hexOf(a);
        b.add('/item/1', 1, { lo: 3, hi: 4 });
        expect(hexOf(a)).toBe(merged);
      }),
    );
  });

  it('does not depend on the order of the rows of an exact part', () => {
    fc.assert(
      fc.property(contexts, eventLists, eventLists, (context, before, list) => {
        const open = {
          ...context,
          shape: {
            ...context.shape,
            exactItems: 1000,
            exactItemBytes: 1e6,
            exactPairs: 1000,
            viewerBytes: 1e6,
          },
        };
        const forwards = summaryOf(before, context);
        forwards.merge(summaryOf(list, open));
        const backwards = summaryOf(before, context);
        backwards.merge(summaryOf([...list].reverse(), open));
        expect(hexOf(forwards)).toBe(hexOf(backwards));
      }),
    );
  });

  it('adds up to more than a count of its own would: 2^53 - 1, and says so', () => {
    fc.assert(
      fc.property(contexts, (context) => {
        const summary = summaryOf(
          [
            { item: 'a', count: Number.MAX_SAFE_INTEGER - 1, actor: null },
            { item: 'b', count: 1, actor: 'visitor' },
          ],
          context,
        );
        expect(summary.saturated).toBe(false);
        const other = summaryOf([{ item: 'a', count: 5, actor: null }], context);
        const merged = mergeOf(summary, other);
        expect(merged.saturated).toBe(true);
        expect(merged.total).toBe(Number.MAX_SAFE_INTEGER);
        expect(merged.boundsOf(new ItemKey('a', testHash)).upper).toBe(Number.MAX_SAFE_INTEGER);
        expect(decodeSummary(encodeSummary(merged), context).saturated).toBe(true);
      }),
    );
  });

  it('hands on that something is incomplete', () => {
    fc.assert(
      fc.property(contexts, eventLists, (context, list) => {
        const damaged = summaryOf([], context);
        damaged.incomplete = true;
        expect(mergeOf(summaryOf(list, context), damaged).incomplete).toBe(true);
        expect(summaryOf(list, context).incomplete).toBe(false);
      }),
    );
  });
});
