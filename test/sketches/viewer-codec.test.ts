import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { ItemKey } from '../../src/sketches/item-key.ts';
import { PairTable } from '../../src/sketches/pair-table.ts';
import { SketchDecodeError } from '../../src/sketches/sketch-decode-error.ts';
import {
  CLOSED_SHAPE,
  Summary,
  type SummaryContext,
  type SummaryShape,
} from '../../src/sketches/summary.ts';
import {
  decodeSummary,
  encodeColumns,
  encodeSummary,
  encodeSummaryUnordered,
} from '../../src/sketches/summary-codec.ts';
import { ViewerSketch } from '../../src/sketches/viewer-sketch.ts';
import { ViewersView } from '../../src/sketches/viewers-view.ts';
import {
  closedContext,
  eventLists,
  hexOf,
  shapes,
  smallContext,
  summaryOf,
  testHash,
  zipfSummary,
} from '../support/summary-events.ts';

const CRC_OFFSET = 8;
const BODY_OFFSET = 12;
/** Of a section in the bytes of a summary: its id and its length. */
const SECTION_HEAD_BYTES = 5;

function contextOf(shape: Partial<SummaryShape>): SummaryContext {
  return { hash: testHash, shape: { ...CLOSED_SHAPE, ...shape } };
}

/** Keeps sets for some items; their hashes for some, registers for others. */
const setsContext = contextOf({ exactPairs: 500, viewerBytes: 8_192 });
const BUSY = { eventCount: 3_000, actorCount: 400 };
const pairs = zipfSummary(closedContext, BUSY);
const sets = zipfSummary(setsContext, BUSY);

/** Bytes of the viewers where they stand apart, or their section. */
function viewerBytesOf(summary: Summary): number {
  const { counts, viewers } = encodeColumns(summary);
  if (viewers !== null) return viewers.length;
  const bare = summary.clone();
  bare.loseViewers();
  const lost = encodeColumns(bare).counts.length;
  // Pairs take the place of the actors.
  const actors = summary.viewers instanceof PairTable ? actorSectionBytes(summary) : 0;
  return Math.max(0, counts.length - lost + actors - SECTION_HEAD_BYTES);
}

function actorSectionBytes({ actors }: Summary): number {
  const bytes = 'size' in actors ? actors.size * 8 : actors.encode().length;
  return bytes === 0 ? 0 : bytes + SECTION_HEAD_BYTES;
}

it('keeps the examples what they are for', () => {
  expect(pairs.viewers).toBeInstanceOf(PairTable);
  expect(sets.viewers).toBeInstanceOf(ViewerSketch);
  const exact = [...(sets.viewers as ViewerSketch).entries.values()].map(({ set }) => set.isExact);
  expect(new Set(exact).size).toBe(2);
});

describe('the viewers in a column of their own', () => {
  it.each([
    ['pairs', pairs],
    ['sets', sets],
  ])('give back all that was known: %s', (_kind, summary) => {
    const { counts, viewers } = encodeColumns(summary);
    const read = decodeSummary(counts, summary.context, viewers!);
    expect(read.viewersLoaded).toBe(true);
    expect(hexOf(read)).toBe(hexOf(summary));
    const [before, after] = [summary, read].map((each) => new ViewersView([each], testHash));
    expect(after!.topByViewers(100)).toEqual(before!.topByViewers(100));
  });

  it.each([
    ['pairs', pairs],
    ['sets', sets],
  ])('need not be read for all else: %s', (_kind, summary) => {
    const { counts } = encodeColumns(summary);
    const read = decodeSummary(counts, summary.context);
    expect(read.viewersLoaded).toBe(false);
    expect(read.total).toBe(summary.total);
    expect(read.actors).toEqual(summary.actors);
    const key = new ItemKey('/item/0', testHash);
    expect(read.boundsOf(key)).toEqual(summary.boundsOf(key));
    expect(() => read.viewers).toThrow(AssertionFailure);
    expect(() => summary.clone().merge(read)).toThrow(AssertionFailure);
    expect(() => encodeSummary(read)).toThrow(AssertionFailure);
    read.loseViewers();
    expect(read.viewers.cut).toBe(summary.total - summary.withoutActor);
  });

  it('travel with the counts while they are small', () => {
    const small = zipfSummary(closedContext);
    const { counts, viewers } = encodeColumns(small);
    expect(viewers).toBeNull();
    expect(decodeSummary(counts, closedContext).viewersLoaded).toBe(true);
    expect(Buffer.from(counts).toString('hex')).toBe(hexOf(small));
  });

  it('are in the one column of parts, however large', () => {
    const read = decodeSummary(encodeSummaryUnordered(pairs), closedContext);
    expect(hexOf(read)).toBe(hexOf(pairs));
    expect(hexOf(decodeSummary(encodeSummaryUnordered(sets), setsContext))).toBe(hexOf(sets));
  });
});

describe('the bytes of viewers', () => {
  it('are never more than the shape allows', () => {
    fc.assert(
      fc.property(shapes, eventLists, eventLists, (shape, listA, listB) => {
        const context = { hash: testHash, shape };
        const a = summaryOf(listA, context);
        expect(viewerBytesOf(a)).toBeLessThanOrEqual(shape.viewerBytes);
        a.merge(summaryOf(listB, context));
        expect(viewerBytesOf(a)).toBeLessThanOrEqual(shape.viewerBytes);
      }),
    );
  });

  it.each([8_192, 20_000, CLOSED_SHAPE.viewerBytes])(
    'are never more than %i on the way up to the limit and far beyond',
    (viewerBytes) => {
      const context = contextOf({ viewerBytes });
      const summary = new Summary(context);
      let largest = 0;
      let changes = 0;
      for (let step = 0; step < 40; step += 1) {
        const before = summary.viewers;
        summary.merge(
          zipfSummary(context, {
            itemCount: 400,
            eventCount: 400 + 50 * step,
            actorCount: 30_000,
            seed: step,
          }),
        );
        if (before instanceof PairTable && summary.viewers instanceof ViewerSketch) changes += 1;
        largest = Math.max(largest, viewerBytesOf(summary));
      }
      expect(changes).toBe(1);
      expect(largest).toBeLessThanOrEqual(viewerBytes);
      // Most of the room is used, but for one set of registers.
      expect(largest).toBeGreaterThan(0.8 * viewerBytes - 1_000);
    },
  );

  it('hold 8,192 pairs of a closed summary, and one more makes sets of them', () => {
    const summary = new Summary(closedContext);
    for (let actor = 0; actor < 8_192; actor += 1) {
      summary.add(`item-${actor % 4_000}`, 1, { lo: actor, hi: 1 });
    }
    expect(summary.pairCount).toBe(8_192);
    summary.add('item-0', 1, { lo: 0, hi: 1 });
    expect(summary.pairCount).toBe(8_192);
    summary.add('item-0', 1, { lo: 9_999, hi: 1 });
    expect(summary.viewers).toBeInstanceOf(ViewerSketch);
  });
});

describe('stored viewers of version 1', () => {
  function golden(name: string): Buffer {
    return readFileSync(new URL(`../golden/${name}`, import.meta.url));
  }

  it('are read for ever: pairs in the bytes of their summary', () => {
    const bytes = golden('summary-pairs-v1.bin');
    const read = decodeSummary(bytes, closedContext);
    expect(read.pairCount).toBeGreaterThan(0);
    expect(hexOf(read)).toBe(hexOf(zipfSummary(closedContext)));
    expect(bytes.toString('hex')).toBe(hexOf(read));
  });

  it.each([
    ['pairs', pairs],
    ['sets', sets],
  ])('are read for ever: %s in a column of their own', (kind, made) => {
    const counts = golden(`columns-${kind}-counts-v1.bin`);
    const viewers = golden(`columns-${kind}-viewers-v1.bin`);
    const read = decodeSummary(counts, made.context, viewers);
    expect(hexOf(read)).toBe(hexOf(made));
    const columns = encodeColumns(read);
    expect(Buffer.from(columns.counts).toString('hex')).toBe(counts.toString('hex'));
    expect(Buffer.from(columns.viewers!).toString('hex')).toBe(viewers.toString('hex'));
  });
});

/** The bytes with a checksum that fits again, so that damage reaches what lies behind it. */
function sealed(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  if (copy.length < BODY_OFFSET) return copy;
  const head = crc32(copy.subarray(0, CRC_OFFSET));
  copy.writeUInt32LE(crc32(copy.subarray(BODY_OFFSET), head), CRC_OFFSET);
  return copy;
}

/** A column of its own with this payload, beside the counts of items a and b (5 events each). */
function apartWith(section: number, ...payload: readonly (readonly number[])[]): Uint8Array {
  const header = Buffer.alloc(BODY_OFFSET);
  header.write('TV');
  header[2] = 1;
  header[3] = section;
  header.writeUInt32LE(testHash.seedId, 4);
  return sealed(Buffer.concat([header, Buffer.from(payload.flat())]));
}

describe('damaged viewers are refused', () => {
  const { counts, viewers } = encodeColumns(pairs);
  const column = viewers!;
  /** Items a and b, whose viewers stand apart: the flag is set by hand. */
  const twoItems = summaryOf(
    ['a', 'b'].map((item) => ({ item, count: 5, actor: null })),
    closedContext,
  );
  const twoItemCounts = Buffer.from(encodeSummary(twoItems));
  twoItemCounts[3]! |= 32;
  const read = (bytes: Uint8Array): Summary =>
    decodeSummary(sealed(twoItemCounts), closedContext, bytes);
  const ONE = [1, 0, 0, 0, 0, 0, 0, 0];
  const TWO = [2, 0, 0, 0, 0, 0, 0, 0];
  const REGISTERS = Array<number>(768).fill(0);

  it('but whole ones are read', () => {
    expect(read(apartWith(5, [2, 1], ONE, TWO, ONE)).pairCount).toBe(3);
    const sketch = read(
      apartWith(6, [7, 2], [2, 0, 0, 0], [97, 98], [1, 1], [3, 0], [1, 0], ONE, REGISTERS),
    );
    expect(sketch.viewers.cut).toBe(7);
    expect((sketch.viewers as ViewerSketch).entries.get('a')!.missed).toBe(3);
  });

  it.each([
    ['another magic', Buffer.concat([Buffer.from('TW'), column.subarray(2)])],
    ['a later version', Buffer.concat([Buffer.from('TV\u0002'), column.subarray(3)])],
    ['a section that is not known', apartWith(7, [0])],
    ['no bytes', Buffer.alloc(0)],
    ['bytes that are cut off', column.subarray(0, column.length - 1)],
    ['more bytes than there should be', Buffer.concat([column, Buffer.of(0)])],
    ['a bit that has changed', Buffer.from(column).fill(column[40]! ^ 1, 40, 41)],
    ['the counts', counts],
  ])('%s', (_what, bytes) => {
    expect(() => decodeSummary(counts, closedContext, bytes)).toThrow(SketchDecodeError);
  });

  it.each([
    ['no actors at all', apartWith(5, [0, 0])],
    ['fewer hashes than announced', apartWith(5, [2, 1], ONE, TWO)],
    ['more hashes than announced', apartWith(5, [1, 1], ONE, TWO, TWO)],
    ['half a hash', apartWith(5, [1, 1], ONE, TWO.slice(4))],
    ['a huge number of hashes', apartWith(5, [255, 255, 255, 255, 255, 255, 255, 15], [1], ONE)],
    ['an actor twice', apartWith(5, [2, 0], ONE, ONE)],
    ['actors in another order', apartWith(5, [2, 0], TWO, ONE)],
    ['fewer numbers than items', apartWith(5, [1])],
    ['a huge number of items', apartWith(6, [0], [255, 255, 255, 255, 255, 255, 255, 15])],
    [
      'items out of order',
      apartWith(6, [0, 2], [2, 0, 0, 0], [98, 97], [1, 1], [0, 0], [1, 1], ONE, ONE),
    ],
    [
      'an item twice',
      apartWith(6, [0, 2], [2, 0, 0, 0], [97, 97], [1, 1], [0, 0], [1, 1], ONE, ONE),
    ],
    ['an item that is no text', apartWith(6, [0, 1], [1, 0, 0, 0], [255], [1], [0], [1], ONE)],
    ['items longer than their bytes', apartWith(6, [0, 1], [1, 0, 0, 0], [97], [2], [0], [1], ONE)],
    [
      'items shorter than their bytes',
      apartWith(6, [0, 1], [2, 0, 0, 0], [97, 97], [1], [0], [1], ONE),
    ],
    ['more hashes than a set holds', apartWith(6, [0, 1], [1, 0, 0, 0], [97], [1], [0], [97], ONE)],
    ['a hash twice', apartWith(6, [0, 1], [1, 0, 0, 0], [97], [1], [0], [2], ONE, ONE)],
    [
      'a register out of range',
      apartWith(6, [0, 1], [1, 0, 0, 0], [97], [1], [0], [0], [63], REGISTERS.slice(1)),
    ],
    [
      'registers cut short',
      apartWith(6, [0, 1], [1, 0, 0, 0], [97], [1], [0], [0], REGISTERS.slice(1)),
    ],
    ['bytes left over', apartWith(6, [0, 1], [1, 0, 0, 0], [97], [1], [0], [1], ONE, ONE)],
  ])('sealed again: %s', (_what, bytes) => {
    expect(() => read(bytes)).toThrow(SketchDecodeError);
  });

  it('pairs without a table of items', () => {
    const sketched = encodeSummary(zipfSummary(smallContext));
    const flagged = Buffer.from(sketched);
    // Its own viewers end where the counts do: a column beside them is one too many.
    flagged[3]! |= 32;
    expect(() => decodeSummary(sealed(flagged), smallContext)).toThrow(SketchDecodeError);
  });

  it('of another hash key', () => {
    const hash = new KeyedHash({ k0: 9, k1: 9 });
    const other = summaryOf([{ item: 'a', count: 1, actor: 'x' }], { hash, shape: CLOSED_SHAPE });
    expect(() => decodeSummary(encodeSummary(other), closedContext)).toThrow(SketchDecodeError);
    const foreign = Buffer.from(column);
    foreign.writeUInt32LE(hash.seedId, 4);
    expect(() => decodeSummary(counts, closedContext, sealed(foreign))).toThrow(SketchDecodeError);
  });

  it('or read, but never anything else, after any mutation', () => {
    const examples = [pairs, sets].map((summary) => ({ summary, ...encodeColumns(summary) }));
    fc.assert(
      fc.property(
        fc.constantFrom(...examples),
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.double({ min: 0.9, max: 1, noNaN: true }),
        ({ summary, counts: whole, viewers: apart }, changes, share) => {
          const bytes = Buffer.from(apart!.subarray(0, Math.ceil(share * apart!.length)));
          for (const [place, value] of changes) {
            // The first bytes are where most of the structure is.
            bytes[Math.floor(place ** 4 * (bytes.length - 1))] = value;
          }
          let damaged: Summary;
          try {
            damaged = decodeSummary(whole, summary.context, sealed(bytes));
          } catch (error) {
            if (error instanceof SketchDecodeError) return;
            throw error;
          }
          // What was accepted can be used, and has one canonical form.
          const canonical = encodeSummary(damaged);
          expect(hexOf(decodeSummary(canonical, summary.context))).toBe(hexOf(damaged));
          new ViewersView([damaged], testHash).topByViewers(5);
          damaged.merge(summary);
        },
      ),
      { numRuns: 300 },
    );
  });
});
