import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../src/lib/bytes.ts';
import { Prng } from '../../src/lib/prng.ts';
import { ActorSet } from '../../src/sketches/actor-set.ts';
import { CountMin } from '../../src/sketches/count-min.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { ItemKey } from '../../src/sketches/item-key.ts';
import { ItemTable } from '../../src/sketches/item-table.ts';
import { PackedRows } from '../../src/sketches/packed-rows.ts';
import { SketchDecodeError } from '../../src/sketches/sketch-decode-error.ts';
import { Summary, type SummaryContext } from '../../src/sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../../src/sketches/summary-codec.ts';
import { TopK } from '../../src/sketches/top-k.ts';
import {
  addEvents,
  closedContext,
  eventLists,
  lawfulPartOf,
  smallContext,
  type SummaryEvent,
  testHash,
} from '../support/summary-events.ts';

/** What all sketches have in common: everything that follows is asked of each. */
interface Subject<T> {
  readonly name: string;
  readonly empty: () => T;
  readonly add: (sketch: T, event: SummaryEvent) => void;
  readonly clone: (sketch: T) => T;
  /** All that is promised to be equal in any order and grouping. */
  readonly faceOf: (sketch: T) => string;
  /** Everything there is, for telling whether something has changed at all. */
  readonly stateOf: (sketch: T) => string;
  /** Absent where the owner merges. */
  readonly merge?: (target: T, other: T) => void;
  /** Absent where the owner encodes. */
  readonly codec?: {
    readonly encode: (sketch: T) => Uint8Array;
    readonly decode: (bytes: Uint8Array) => T;
  };
}

function hashOfActor({ actor, item }: SummaryEvent): { lo: number; hi: number } {
  testHash.hashString(actor ?? item);
  return { lo: testHash.lo, hi: testHash.hi };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

const countMin: Subject<CountMin> = {
  name: 'CountMin with plain adds',
  empty: () => new CountMin({ width: 16, depth: 3 }),
  add: (sketch, { item, count }) => {
    testHash.hashString(item);
    sketch.add(testHash.lo, testHash.hi, count);
  },
  clone: (sketch) => sketch.clone(),
  faceOf: ({ cells, total, saturated }) => `${total} ${saturated} ${cells.join()}`,
  stateOf: ({ cells, total, saturated }) => `${total} ${saturated} ${cells.join()}`,
  merge: (target, other) => target.merge(other),
};

/** Counts enter the heap as sums: a table beside it has them, as a summary has its cells. */
const topK: Subject<{ readonly top: TopK; readonly counts: ItemTable }> = {
  name: 'TopK',
  empty: () => ({ top: new TopK(4), counts: new ItemTable() }),
  add: ({ top, counts }, { item, count }) => {
    counts.add(item, count);
    top.offer(item, counts.countOf(item), count);
  },
  clone: ({ top, counts }) => ({ top: top.clone(), counts: counts.clone() }),
  faceOf: ({ top }) => JSON.stringify(top.rows().map(({ item, upper }) => [item, upper])),
  stateOf: ({ top }) => JSON.stringify([top.rows(), top.dropped]),
};

const itemTable: Subject<ItemTable> = {
  name: 'ItemTable',
  empty: () => new ItemTable(),
  add: (table, { item, count }) => table.add(item, count),
  clone: (table) => table.clone(),
  faceOf: (table) => hex(encodeTable(table)),
  stateOf: (table) => `${table.size} ${table.itemBytes} ${hex(encodeTable(table))}`,
  merge: (target, other) => other.forEach((item, count) => target.add(item, count)),
  codec: {
    encode: encodeTable,
    decode: (bytes) => decodeTable(bytes)!,
  },
};

interface Row {
  readonly item: Buffer;
  readonly count: number;
}

function rowsOf(table: ItemTable): Row[] {
  const rows: Row[] = [];
  table.forEach((item, count) => {
    rows.push({ item: Buffer.from(item), count });
  });
  return rows;
}

function encodeTable(table: ItemTable): Uint8Array {
  return encodeRows(rowsOf(table).sort((a, b) => Buffer.compare(a.item, b.item)));
}

function decodeTable(bytes: Uint8Array): ItemTable | null {
  const reader = new ByteReader(bytes);
  const size = reader.count(1);
  const format = { hasGaps: false, isAscending: false };
  const rows = new PackedRows(reader, size, Number.MAX_SAFE_INTEGER, format);
  return ItemTable.of(rows, testHash);
}

/** The columns of a table as they are stored. */
function encodeRows(rows: readonly Row[]): Uint8Array {
  const writer = new ByteWriter();
  writer.varint(rows.length);
  writer.uint32(rows.reduce((bytes, { item }) => bytes + item.length, 0));
  for (const { item } of rows) writer.raw(item);
  for (const { item } of rows) writer.varint(item.length);
  for (const { count } of rows) writer.varint(count);
  return writer.finish();
}

const hyperLogLog: Subject<HyperLogLog> = {
  name: 'HyperLogLog',
  empty: () => new HyperLogLog(),
  add: (sketch, event) => {
    const { lo, hi } = hashOfActor(event);
    sketch.addHash(lo, hi);
  },
  clone: (sketch) => sketch.clone(),
  faceOf: (sketch) => hex(sketch.encode()),
  stateOf: (sketch) => hex(sketch.encode()),
  merge: (target, other) => target.merge(other),
  codec: {
    encode: (sketch) => sketch.encode(),
    decode: (bytes) => HyperLogLog.decode(bytes),
  },
};

const actorSet: Subject<ActorSet> = {
  name: 'ActorSet',
  empty: () => new ActorSet(),
  add: (set, event) => {
    const { lo, hi } = hashOfActor(event);
    set.add(lo, hi);
  },
  clone: (set) => set.clone(),
  faceOf: (set) => set.sorted().join(),
  stateOf: (set) => `${set.size} ${set.sorted().join()}`,
  merge: (target, other) => {
    other.forEach((lo, hi) => {
      target.add(lo, hi);
    });
  },
};

function summarySubject(name: string, context: SummaryContext): Subject<Summary> {
  return {
    name,
    empty: () => new Summary(context),
    add: (summary, event) => addEvents(summary, [event]),
    clone: (summary) => summary.clone(),
    faceOf: lawfulPartOf,
    stateOf: (summary) => hex(encodeSummary(summary)),
    merge: (target, other) => target.merge(other),
    codec: { encode: encodeSummary, decode: (bytes) => decodeSummary(bytes, context) },
  };
}

describeContract(countMin);
describeContract(topK);
describeContract(itemTable);
describeContract(hyperLogLog);
describeContract(actorSet);
describeContract(summarySubject('Summary that stays exact', closedContext));
describeContract(summarySubject('Summary that is soon sketched', smallContext));

function describeContract<T>(subject: Subject<T>): void {
  const { empty, clone, faceOf, stateOf } = subject;
  const of = (events: readonly SummaryEvent[]): T => {
    const sketch = empty();
    for (const event of events) subject.add(sketch, event);
    return sketch;
  };

  describe(subject.name, () => {
    it('is the same for the same events in any order', () => {
      fc.assert(
        fc.property(eventLists, fc.integer(), (events, seed) => {
          const prng = new Prng(seed);
          const shuffled = events
            .map((event) => ({ event, place: prng.nextFloat() }))
            .sort((a, b) => a.place - b.place)
            .map(({ event }) => event);
          expect(faceOf(of(shuffled))).toBe(faceOf(of(events)));
        }),
      );
    });

    it('has clones that do not change with it, nor it with them', () => {
      fc.assert(
        fc.property(eventLists, eventLists, (before, after) => {
          const sketch = of(before);
          const copy = clone(sketch);
          const state = stateOf(sketch);
          expect(stateOf(copy)).toBe(state);
          for (const event of after) subject.add(copy, event);
          expect(stateOf(sketch)).toBe(state);
          const changed = stateOf(copy);
          for (const event of before) subject.add(sketch, event);
          expect(stateOf(copy)).toBe(changed);
        }),
      );
    });

    const { merge } = subject;
    if (merge !== undefined) describeMerging({ ...subject, merge }, of);
    const { codec } = subject;
    if (codec !== undefined) describeCodec({ ...subject, codec }, of);
  });
}

function describeMerging<T>(
  { empty, clone, faceOf, stateOf, add, merge }: Subject<T> & Required<Pick<Subject<T>, 'merge'>>,
  of: (events: readonly SummaryEvent[]) => T,
): void {
  const merged = (a: T, b: T): T => {
    const sum = clone(a);
    merge(sum, b);
    return sum;
  };

  it('merges parts to what the whole would be', () => {
    fc.assert(
      fc.property(eventLists, eventLists, (a, b) => {
        expect(faceOf(merged(of(a), of(b)))).toBe(faceOf(of([...a, ...b])));
      }),
    );
  });

  it('merges commutatively, associatively and with the empty one as identity', () => {
    fc.assert(
      fc.property(eventLists, eventLists, eventLists, (listA, listB, listC) => {
        const [a, b, c] = [of(listA), of(listB), of(listC)];
        expect(faceOf(merged(a, b))).toBe(faceOf(merged(b, a)));
        expect(faceOf(merged(merged(a, b), c))).toBe(faceOf(merged(a, merged(b, c))));
        expect(stateOf(merged(a, empty()))).toBe(stateOf(a));
        expect(stateOf(merged(empty(), a))).toBe(stateOf(a));
      }),
    );
  });

  it('leaves what it merges as it was, and shares nothing with it', () => {
    fc.assert(
      fc.property(eventLists, eventLists, (listA, listB) => {
        const target = of(listA);
        const other = of(listB);
        const before = stateOf(other);
        merge(target, other);
        for (const event of listA) add(target, event);
        expect(stateOf(other)).toBe(before);
        const after = stateOf(target);
        for (const event of listA) add(other, event);
        expect(stateOf(target)).toBe(after);
      }),
    );
  });
}

function describeCodec<T>(
  { empty, stateOf, add, codec }: Subject<T> & Required<Pick<Subject<T>, 'codec'>>,
  of: (events: readonly SummaryEvent[]) => T,
): void {
  const { encode, decode } = codec;

  it('is read back as it was written, to the same bytes', () => {
    fc.assert(
      fc.property(eventLists, (events) => {
        const sketch = of(events);
        const read = decode(encode(sketch));
        expect(stateOf(read)).toBe(stateOf(sketch));
        expect(hex(encode(read))).toBe(hex(encode(sketch)));
      }),
    );
    expect(stateOf(decode(encode(empty())))).toBe(stateOf(empty()));
  });

  it('goes on from its bytes as if it had never been stored', () => {
    fc.assert(
      fc.property(eventLists, eventLists, (before, after) => {
        const kept = of(before);
        const bytes = encode(kept);
        const written = hex(bytes);
        const read = decode(bytes);
        for (const event of after) {
          add(kept, event);
          add(read, event);
        }
        expect(stateOf(read)).toBe(stateOf(kept));
        // It may live in the bytes that it was read from, but it leaves them as they are.
        expect(hex(bytes)).toBe(written);
        expect(hex(encode(of(before)))).toBe(written);
      }),
    );
  });
}

it('ItemTable gives what it holds, packed or not, with the hash of each item', () => {
  fc.assert(
    fc.property(eventLists, (events) => {
      const table = itemTable.empty();
      for (const event of events) itemTable.add(table, event);
      const packed = itemTable.codec!.decode(encodeTable(table));
      for (const either of [table, packed, packed.clone()]) {
        const hashes = either.hashes(testHash);
        const uppers = either.uppers();
        let index = 0;
        either.forEach((item, count) => {
          expect(either.countOf(item)).toBe(count);
          expect(uppers[index]).toBe(count);
          const { lo, hi } = new ItemKey(item, testHash);
          expect([hashes[2 * index], hashes[2 * index + 1]]).toEqual([lo, hi]);
          index += 1;
        });
        expect(index).toBe(either.size);
        expect(either.itemBytes).toBe(table.itemBytes);
        expect(either.countOf('never seen')).toBe(0);
        expect(either.boundsOf(new ItemKey('never seen', testHash))).toBeUndefined();
      }
      // The hashes are kept, but not beyond a change.
      packed.add('one more', 1);
      expect(packed.hashes(testHash)).toHaveLength(2 * packed.size);
    }),
  );
});

it('ItemTable takes rows in any order, but none twice', () => {
  fc.assert(
    fc.property(eventLists, (events) => {
      const table = itemTable.empty();
      for (const event of events) itemTable.add(table, event);
      const rows = rowsOf(table).sort((a, b) => Buffer.compare(b.item, a.item));
      const stored = encodeRows(rows);
      const read = decodeTable(stored)!;
      expect(itemTable.stateOf(read)).toBe(itemTable.stateOf(table));
      for (const { item } of events) {
        const key = new ItemKey(item, testHash);
        // Each of them has to find out by itself that the rows are in no order.
        expect(decodeTable(stored)!.boundsOf(key)).toEqual(table.boundsOf(key));
        expect(decodeTable(stored)!.countOf(item)).toBe(table.countOf(item));
      }
      if (rows.length > 0) expect(decodeTable(encodeRows([...rows, rows[0]!]))).toBeNull();
    }),
  );
});

it('every decoder has one error of its own', () => {
  expect(() => HyperLogLog.decode(new Uint8Array())).toThrow(SketchDecodeError);
  expect(() => decodeSummary(new Uint8Array(), smallContext)).toThrow(SketchDecodeError);
});
