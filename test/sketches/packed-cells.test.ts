import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteReadError, ByteWriter } from '../../src/lib/bytes.ts';
import { type Cells, CountMin, type CountMinShape } from '../../src/sketches/count-min.ts';
import { PackedCells } from '../../src/sketches/packed-cells.ts';

const SHAPE: CountMinShape = { width: 16, depth: 2 };
const CELL_COUNT = SHAPE.width * SHAPE.depth;
const TWO_POW_32 = 2 ** 32;
const LO = 123_456;
const HI = 654_321;

/** Cells, and a total that none of them is above. */
const stored = fc
  .tuple(
    fc.array(fc.oneof(fc.nat(140), fc.nat(TWO_POW_32 - 2)), {
      minLength: CELL_COUNT,
      maxLength: CELL_COUNT,
    }),
    fc.constantFrom(TWO_POW_32 - 1, TWO_POW_32, Number.MAX_SAFE_INTEGER - 10),
  )
  .map(([cells, total]) => ({ cells, total }));

function bytesOf(cells: readonly number[]): Uint8Array {
  const writer = new ByteWriter();
  for (const cell of cells) writer.varint(cell);
  return writer.finish();
}

type Read = (reader: ByteReader, length: number, max: number) => PackedCells;
const READS: readonly Read[] = [
  (...from) => PackedCells.read(...from),
  (...from) => PackedCells.readTrusted(...from),
];

function packed(
  { cells, total }: { cells: readonly number[]; total: number },
  read: Read,
): CountMin {
  const stored = read(new ByteReader(bytesOf(cells)), cells.length, total);
  return new CountMin(SHAPE, stored, total);
}

function unpacked({ cells, total }: { cells: readonly number[]; total: number }): CountMin {
  const own: Cells = total < TWO_POW_32 ? Uint32Array.from(cells) : Float64Array.from(cells);
  return new CountMin(SHAPE, own, total);
}

function stateOf(sketch: CountMin): unknown {
  const { total, saturated, byteLength } = sketch;
  return { total, saturated, byteLength, cells: [...sketch.cells] };
}

describe('cells as they were stored', () => {
  it.each([
    ['an estimate', (sketch: CountMin) => sketch.estimate(LO, HI)],
    ['an add', (sketch: CountMin) => sketch.add(LO, HI, 5)],
    ['a conservative add', (sketch: CountMin) => sketch.addConservative(LO, HI, 5)],
    ['a raise', (sketch: CountMin) => sketch.raise(LO, HI, 77)],
    ['a growth', (sketch: CountMin) => sketch.grow(9)],
    ['a merge into itself', (sketch: CountMin) => sketch.merge(new CountMin(SHAPE))],
    ['a merge into another', (sketch: CountMin) => new CountMin(SHAPE).merge(sketch)],
    ['a copy that changes', (sketch: CountMin) => sketch.clone().add(LO, HI, 5)],
  ])('are the same to %s as unpacked ones, in 32 and in 64 bits', (_what, use) => {
    fc.assert(
      fc.property(stored, fc.constantFrom(...READS), (state, read) => {
        const lazy = packed(state, read);
        const eager = unpacked(state);
        expect(lazy.byteLength).toBe(eager.byteLength);
        expect(use(lazy)).toEqual(use(eager));
        expect(stateOf(lazy)).toEqual(stateOf(eager));
      }),
    );
  });

  it('are refused when one is missing, cut off or above the total, before any is looked into', () => {
    const cells = Array.from({ length: CELL_COUNT }, () => 200);
    const read = (bytes: Uint8Array, total: number): PackedCells =>
      PackedCells.read(new ByteReader(bytes), CELL_COUNT, total);
    expect([...read(bytesOf(cells), 200).unpack()]).toEqual(cells);
    expect(() => read(bytesOf(cells), 199)).toThrow(ByteReadError);
    expect(() => read(bytesOf(cells.slice(1)), 200)).toThrow(ByteReadError);
    expect(() => read(bytesOf(cells).subarray(0, -1), 200)).toThrow(ByteReadError);
  });

  it('do not follow what later happens to a message they were a small part of', () => {
    const message = new Uint8Array(1_000);
    const cells = Array.from({ length: CELL_COUNT }, (_, index) => index);
    message.set(bytesOf(cells));
    const read = PackedCells.read(new ByteReader(message), CELL_COUNT, 100);
    message.fill(0);
    expect([...read.unpack()]).toEqual(cells);
  });

  it('are each taken for the total when they were trusted and are no cells', () => {
    const cells = Array.from({ length: CELL_COUNT }, () => 200);
    const whole = bytesOf(cells);
    for (const [bytes, total] of [
      [whole, 199],
      [whole.subarray(0, -1), 200],
      [bytesOf([...cells, 1]), 200],
      [bytesOf(cells.slice(1)), TWO_POW_32],
    ] as const) {
      const read = PackedCells.readTrusted(new ByteReader(bytes), CELL_COUNT, total);
      expect([...read.unpack()]).toEqual(cells.map(() => total));
    }
  });
});
