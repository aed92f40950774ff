import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { ItemKey } from '../../src/sketches/item-key.ts';
import { Summary, type SummaryContext } from '../../src/sketches/summary.ts';
import {
  decodeSummary,
  encodeSummary,
  encodeSummaryUnordered,
} from '../../src/sketches/summary-codec.ts';
import {
  addEvents,
  closedContext,
  eventLists,
  hexOf,
  mergeOf,
  SMALL_SHAPE,
  shapes,
  smallContext,
  summaryOf,
  testHash,
  zipfSummary,
} from '../support/summary-events.ts';
import { ZipfSampler } from '../support/zipf.ts';

const contexts: fc.Arbitrary<SummaryContext> = shapes.map((shape) => ({ hash: testHash, shape }));

describe('the bytes of a summary', () => {
  it('give back all that it knew', () => {
    fc.assert(
      fc.property(contexts, eventLists, fc.boolean(), (context, list, incomplete) => {
        const summary = summaryOf(list, context);
        summary.incomplete = incomplete;
        const read = decodeSummary(encodeSummary(summary), context);
        expect(hexOf(read)).toBe(hexOf(summary));
        expect(read.total).toBe(summary.total);
        expect(read.withoutActor).toBe(summary.withoutActor);
        expect(read.incomplete).toBe(incomplete);
        expect(read.itemsExact).toBe(summary.itemsExact);
        expect(read.actorsExact).toBe(summary.actorsExact);
        expect(read.itemCount).toBe(summary.itemCount);
        expect(read.itemBytes).toBe(summary.itemBytes);
        expect(read.cut).toBe(summary.cut);
        for (const item of [...list.map((event) => event.item), 'never seen']) {
          const key = new ItemKey(item, testHash);
          expect(read.boundsOf(key)).toEqual({
            upper: summary.boundsOf(key).upper,
            lower: summary.boundsOf(key).lower,
          });
        }
      }),
    );
  });

  it('are equal for equal summaries, in whatever order their events came', () => {
    fc.assert(
      fc.property(eventLists, fc.integer(), (list, seed) => {
        const prng = new Prng(seed);
        const shuffled = list
          .map((event) => ({ event, place: prng.nextFloat() }))
          .sort((a, b) => a.place - b.place)
          .map(({ event }) => event);
        expect(hexOf(summaryOf(shuffled, closedContext))).toBe(
          hexOf(summaryOf(list, closedContext)),
        );
      }),
    );
  });

  it('mean the same when they are written without the cost of order', () => {
    fc.assert(
      fc.property(contexts, eventLists, (context, list) => {
        const summary = summaryOf(list, context);
        const read = decodeSummary(encodeSummaryUnordered(summary), context);
        expect(hexOf(read)).toBe(hexOf(summary));
      }),
    );
  });

  it('let a summary go on as if it had never been stored', () => {
    fc.assert(
      fc.property(contexts, eventLists, eventLists, (context, before, after) => {
        const kept = summaryOf(before, context);
        const read = decodeSummary(encodeSummary(kept), context);
        const copy = read.clone();
        addEvents(kept, after);
        addEvents(read, after);
        expect(hexOf(read)).toBe(hexOf(kept));
        expect(hexOf(copy)).toBe(hexOf(summaryOf(before, context)));
        const merged = mergeOf(decodeSummary(encodeSummary(kept), context), copy);
        expect(hexOf(merged)).toBe(hexOf(mergeOf(kept, summaryOf(before, context))));
      }),
    );
  });

  it('hold counts of up to 2^53 - 1, in tables and in cells of 64 bits', () => {
    for (const context of [
      closedContext,
      { hash: testHash, shape: { ...SMALL_SHAPE, exactItems: 2 } },
    ]) {
      const summary = new Summary(context);
      for (const [index, count] of [2 ** 32, 2 ** 52, 7, 2 ** 40].entries()) {
        summary.add(`item-${index}`, count, null);
      }
      const read = decodeSummary(encodeSummary(summary), context);
      expect(hexOf(read)).toBe(hexOf(summary));
      expect(read.boundsOf(new ItemKey('item-1', testHash)).upper).toBe(2 ** 52);
    }
  });

  it('take a few hundred bytes for a small stream', () => {
    const small = zipfSummary(closedContext, { itemCount: 20, eventCount: 60, actorCount: 10 });
    expect(small.itemsExact && small.actorsExact).toBe(true);
    expect(encodeSummary(small).length).toBeLessThan(600);
    expect(encodeSummary(new Summary(closedContext))).toHaveLength(14);
  });

  it('take 82 to 110 KB and the registers for a busy minute, not the 328 KB of its cells', () => {
    const busy = new Summary(closedContext);
    const prng = new Prng(1);
    const sampler = new ZipfSampler(1_000_000, 1);
    for (let event = 0; event < 60_000; event += 1)
      busy.add(`/item/${sampler.next(prng)}`, 1, null);
    expect(busy.itemsExact).toBe(false);
    const bytes = encodeSummary(busy);
    expect(bytes.length).toBeGreaterThan(82_000);
    expect(bytes.length).toBeLessThan(115_000);
    const read = decodeSummary(bytes, closedContext);
    expect(read.byteLength).toBeLessThan(520_000);
    expect(read.byteLength).toBeGreaterThan(5 * 16_384 * 4);
  });
});

describe('stored bytes of version 1', () => {
  function golden(name: string): Buffer {
    return readFileSync(new URL(`../golden/${name}`, import.meta.url));
  }

  it('are read for ever: a small exact summary, from before viewers were kept', () => {
    const read = decodeSummary(golden('summary-exact-v1.bin'), closedContext);
    expect(read).toMatchObject({ itemsExact: true, actorsExact: true, incomplete: false });
    const made = zipfSummary(closedContext);
    expect(read.viewers.cut).toBe(made.total - made.withoutActor);
    made.loseViewers();
    expect(hexOf(read)).toBe(hexOf(made));
    expect(golden('summary-exact-v1.bin').toString('hex')).toBe(hexOf(read));
  });

  it('are read for ever: sketched items and registers, from before viewers were kept', () => {
    const read = decodeSummary(golden('summary-sketched-v1.bin'), smallContext);
    const made = zipfSummary(smallContext, { eventCount: 4000, actorCount: 3000 });
    expect(read).toMatchObject({ itemsExact: false, actorsExact: false, total: made.total });
    made.loseViewers();
    expect(hexOf(read)).toBe(hexOf(made));
    expect(golden('summary-sketched-v1.bin').toString('hex')).toBe(hexOf(read));
  });

  it('have one fingerprint over hundreds of states: hash, state and format are what they were', () => {
    const fingerprint = createHash('sha256');
    for (let seed = 1; seed <= 300; seed += 1) {
      const context = seed % 3 === 0 ? closedContext : smallContext;
      const sizes = {
        itemCount: 1 + (seed % 50),
        eventCount: seed,
        actorCount: 1 + (seed % 20),
        seed,
      };
      const merged = mergeOf(zipfSummary(context, sizes), zipfSummary(context, { seed: -seed }));
      fingerprint.update(encodeSummary(merged));
    }
    expect(fingerprint.digest('hex')).toBe(
      '5da2bc9ebf49b85b9813c4cecc3741a50595542b8322f095394338858eb46326',
    );
  });
});
