import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionFailure } from '../../src/lib/assert.ts';
import { ByteReader, ByteWriter } from '../../src/lib/bytes.ts';
import { Prng } from '../../src/lib/prng.ts';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { type Candidate, compareCandidates } from '../../src/sketches/candidate.ts';
import { PackedRows } from '../../src/sketches/packed-rows.ts';
import { TopK } from '../../src/sketches/top-k.ts';

const { MAX_SAFE_INTEGER } = Number;

interface Offer {
  readonly item: string;
  readonly added: number;
}

/** Items whose order by UTF-16 units is another than by bytes are among them. */
const ITEMS = ['a', 'b', 'aa', '', 'é', '\uffff', '\ue000', '\u{10000}', '\u{1f600}', 'zz', 'z'];

/** Each offer raises its item's count: 0 offers it again as it is. */
const offers: fc.Arbitrary<Offer[]> = fc.array(
  fc.record({ item: fc.constantFrom(...ITEMS), added: fc.nat(3) }),
  { maxLength: 120 },
);

/** Every item's last offer, in order. */
function offerAll(top: TopK, list: readonly Offer[]): Candidate[] {
  const counts = new Map<string, number>();
  for (const { item, added } of list) {
    const upper = (counts.get(item) ?? 1) + added;
    counts.set(item, upper);
    top.offer(item, upper, Math.floor(upper / 2));
  }
  return [...counts]
    .map(([item, upper]) => ({
      item,
      upper,
      lower: Math.floor(upper / 2),
      bytes: Buffer.from(item),
    }))
    .sort((a, b) => b.upper - a.upper || Buffer.compare(a.bytes, b.bytes))
    .map(({ item, upper, lower }) => ({ item, upper, lower }));
}

/** The same rows, read from bytes as a codec does. */
function packed(top: TopK): TopK {
  const rows = top.rows().sort((a, b) => compareUtf8(a.item, b.item));
  const texts = Buffer.concat(rows.map(({ item }) => Buffer.from(item)));
  const writer = new ByteWriter();
  writer.uint32(texts.length);
  writer.raw(texts);
  for (const { item } of rows) writer.varint(Buffer.byteLength(item));
  for (const { upper } of rows) writer.varint(upper);
  for (const { upper, lower } of rows) writer.varint(upper - lower);
  const reader = new ByteReader(writer.finish());
  return TopK.of(
    top.capacity,
    new PackedRows(reader, rows.length, MAX_SAFE_INTEGER, {
      hasGaps: true,
      isAscending: false,
    }),
  );
}

describe('TopK', () => {
  it('holds what sorting all offers would put first, and the largest count it does not hold', () => {
    fc.assert(
      fc.property(offers, fc.integer({ min: 1, max: 12 }), (list, capacity) => {
        const top = new TopK(capacity);
        const sorted = offerAll(top, list);
        expect(top.rows()).toEqual(sorted.slice(0, capacity));
        expect(top.dropped).toBe(sorted[capacity]?.upper ?? 0);
        expect(top.size).toBe(Math.min(sorted.length, capacity));
      }),
      { numRuns: 500 },
    );
  });

  it('lists every item once after long mixed offers', () => {
    const prng = new Prng(330);
    const top = new TopK(50);
    const counts = new Map<string, number>();
    for (let turn = 0; turn < 20_000; turn += 1) {
      const item = `item-${Math.floor(200 * prng.nextFloat() ** 2)}`;
      const count = (counts.get(item) ?? 0) + 1 + prng.nextInt(5);
      counts.set(item, count);
      top.offer(item, count, 0);
    }
    const items = top.rows().map(({ item }) => item);
    expect(items).toHaveLength(50);
    expect(new Set(items).size).toBe(50);
  });

  it('gives the bounds of what it holds, and nothing for what it does not', () => {
    const top = new TopK(2);
    top.offer('a', 5, 3);
    top.offer('b', 9, 9);
    top.offer('c', 7, 1);
    expect(top.get('a')).toBeUndefined();
    expect(top.get('b')).toMatchObject({ upper: 9, lower: 9 });
    expect(top.get('c')).toMatchObject({ upper: 7, lower: 1 });
    expect(top.dropped).toBe(5);
  });

  it('breaks ties by bytes, so that the order of the offers does not matter', () => {
    const first = new TopK(2);
    const second = new TopK(2);
    for (const item of ITEMS) first.offer(item, 1, 0);
    for (const item of [...ITEMS].reverse()) second.offer(item, 1, 0);
    expect(first.rows()).toEqual(second.rows());
    expect(first.rows().map(({ item }) => item)).toEqual(['', 'a']);
    expect(first.dropped).toBe(1);
  });

  it('makes clones that do not change with the original, nor it with them', () => {
    fc.assert(
      fc.property(offers, offers, fc.boolean(), (before, after, isPacked) => {
        let original = new TopK(4);
        offerAll(original, before);
        if (isPacked) original = packed(original);
        const { dropped } = original;
        const rows = original.rows();
        const copy = original.clone();
        offerAll(
          copy,
          after.map(({ item, added }) => ({ item, added: added + 1000 })),
        );
        expect(original.rows()).toEqual(rows);
        expect(original.dropped).toBe(dropped);
        const again = original.clone();
        offerAll(
          original,
          after.map(({ item, added }) => ({ item, added: added + 1000 })),
        );
        expect(again.rows()).toEqual(rows);
        expect(original.rows()).toEqual(copy.rows());
      }),
    );
  });

  it('goes on from stored rows as if it had never been stored', () => {
    fc.assert(
      fc.property(offers, offers, fc.integer({ min: 1, max: 12 }), (before, after, capacity) => {
        const kept = new TopK(capacity);
        offerAll(kept, before);
        const read = packed(kept);
        expect(read.size).toBe(kept.size);
        expect(read.rows()).toEqual(kept.rows());
        expect(read.uppers().toSorted()).toEqual(kept.uppers().toSorted());
        for (const item of ITEMS) expect(read.get(item)?.upper).toBe(kept.get(item)?.upper);
        const raised = after.map(({ item, added }) => ({ item, added: added + 1000 }));
        kept.dropped = 0;
        offerAll(kept, raised);
        offerAll(read, raised);
        expect(read.rows()).toEqual(kept.rows());
        expect(read.dropped).toBe(kept.dropped);
      }),
    );
  });

  it('visits only what reaches a threshold', () => {
    const top = new TopK(10);
    for (const [index, item] of ITEMS.slice(0, 10).entries()) top.offer(item, index + 1, index);
    for (const either of [top, packed(top)]) {
      const visited: Candidate[] = [];
      either.forEach((item, upper, lower) => visited.push({ item, upper, lower }), 8);
      expect(visited.sort(compareCandidates)).toEqual(top.rows().slice(0, 3));
    }
  });

  it('refuses a capacity that is no positive integer', () => {
    for (const capacity of [0, -1, 1.5, Number.NaN]) {
      expect(() => new TopK(capacity)).toThrow(AssertionFailure);
    }
  });

  it('refuses a count that falls', () => {
    const top = new TopK(2);
    top.offer('a', 5, 5);
    expect(() => top.offer('a', 4, 4)).toThrow(AssertionFailure);
  });
});
