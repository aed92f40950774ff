import fc from 'fast-check';
import { Prng } from '../../src/lib/prng.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import {
  CLOSED_SHAPE,
  Summary,
  type SummaryContext,
  type SummaryShape,
} from '../../src/sketches/summary.ts';
import { PairTable } from '../../src/sketches/pair-table.ts';
import { encodeSummary } from '../../src/sketches/summary-codec.ts';
import type { CountOracle } from './oracle.ts';
import { ZipfSampler } from './zipf.ts';

/** What a summary is told about an event; without an actor if that is null. */
export interface SummaryEvent {
  readonly item: string;
  readonly count: number;
  readonly actor: string | null;
}

export const testHash = new KeyedHash({ k0: 0x01234567, k1: 0x89abcdef });

/** So small that a handful of events is sketched, listed items are pushed out and cells collide. */
export const SMALL_SHAPE: SummaryShape = {
  width: 16,
  depth: 2,
  candidates: 4,
  exactItems: 6,
  exactItemBytes: 200,
  exactActors: 5,
  exactPairs: 12,
  viewerBytes: 200,
};

export const smallContext: SummaryContext = { hash: testHash, shape: SMALL_SHAPE };
export const closedContext: SummaryContext = { hash: testHash, shape: CLOSED_SHAPE };

/** Shapes between the smallest and some that keep everything exact. */
export const shapes: fc.Arbitrary<SummaryShape> = fc.oneof(
  fc.record({
    width: fc.constantFrom(16, 32, 64),
    depth: fc.integer({ min: 1, max: 5 }),
    candidates: fc.integer({ min: 4, max: 16 }),
    exactItems: fc.integer({ min: 2, max: 20 }),
    exactItemBytes: fc.constantFrom(20, 100_000),
    exactActors: fc.integer({ min: 1, max: 12 }),
    exactPairs: fc.integer({ min: 1, max: 30 }),
    viewerBytes: fc.integer({ min: 100, max: 2_000 }),
  }),
  fc.constant(CLOSED_SHAPE),
);

/** Some ASCII, some not, some whose order by bytes differs from the engine's. */
const ITEMS = [
  ...Array.from({ length: 30 }, (_, index) => `/item/${index}`),
  ...['', 'a b', 'é', '\uffff', '\u{10000}', '{tag}', '\0'],
];

const event: fc.Arbitrary<SummaryEvent> = fc.record({
  item: fc.constantFrom(...ITEMS),
  count: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 1_000_000 })),
  actor: fc.oneof(
    fc.constant(null),
    fc.nat(20).map((number) => `visitor-${number}`),
  ),
});

export const eventLists: fc.Arbitrary<SummaryEvent[]> = fc.array(event, { maxLength: 60 });

export function addEvents(summary: Summary, events: Iterable<SummaryEvent>): void {
  const { hash } = summary.context;
  for (const { item, count, actor } of events) {
    if (actor !== null) hash.hashString(actor);
    summary.add(item, count, actor === null ? null : { lo: hash.lo, hi: hash.hi });
  }
}

export function summaryOf(
  events: Iterable<SummaryEvent>,
  context: SummaryContext = smallContext,
): Summary {
  const summary = new Summary(context);
  addEvents(summary, events);
  return summary;
}

/** A summary of Zipf events with actors, the same on every machine. */
export function zipfSummary(
  context: SummaryContext,
  { itemCount = 40, eventCount = 200, actorCount = 30, seed = 1 } = {},
): Summary {
  const prng = new Prng(seed);
  const sampler = new ZipfSampler(itemCount, 1);
  const summary = new Summary(context);
  addEvents(
    summary,
    Array.from({ length: eventCount }, () => ({
      item: `/item/${sampler.next(prng)}`,
      count: 1 + prng.nextInt(3),
      actor: prng.chance(0.1) ? null : `visitor-${prng.nextInt(actorCount)}`,
    })),
  );
  return summary;
}

/** A new summary of all of them; none of them changes. */
export function mergeOf(...summaries: readonly [Summary, ...Summary[]]): Summary {
  const merged = new Summary(summaries[0].context);
  for (const summary of summaries) merged.merge(summary);
  return merged;
}

export function hexOf(summary: Summary): string {
  return Buffer.from(encodeSummary(summary)).toString('hex');
}

/**
 * Everything that is the same in any order and grouping of merges: totals, flags, the item table
 * while it is exact, and actors. For sketched items only that they are sketched.
 */
export function lawfulPartOf(summary: Summary): string {
  const bare = new Summary(summary.context);
  const state = { ...summary.state() };
  if (!summary.itemsExact) state.items = bare.state().items;
  if (!(summary.viewers instanceof PairTable)) state.viewers = bare.state().viewers;
  const rest = Summary.fromState(summary.context, state);
  return `${summary.itemsExact ? 'exact' : 'sketched'} ${hexOf(rest)}`;
}

/** What a summary gets wrong about the items it has counted, and about one that it has not. */
export function brokenBounds(
  bounds: { countOf(item: string): { lower: number; upper: number } },
  oracle: CountOracle,
): string[] {
  return [...oracle.items, 'never seen'].flatMap((item) => {
    const { lower, upper } = bounds.countOf(item);
    const truth = oracle.countOf(item);
    if (lower <= truth && truth <= upper) return [];
    return [`${item} occurred ${truth} times, not ${lower} to ${upper}`];
  });
}
