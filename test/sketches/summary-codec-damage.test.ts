import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { ItemKey } from '../../src/sketches/item-key.ts';
import { SketchDecodeError } from '../../src/sketches/sketch-decode-error.ts';
import { CLOSED_SHAPE, Summary, type SummaryContext } from '../../src/sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../../src/sketches/summary-codec.ts';
import {
  closedContext,
  hexOf,
  SMALL_SHAPE,
  smallContext,
  testHash,
  zipfSummary,
} from '../support/summary-events.ts';

const VERSION_OFFSET = 2;
const FLAGS_OFFSET = 3;
const SEED_OFFSET = 4;
const CRC_OFFSET = 8;
const BODY_OFFSET = 12;

const exact = zipfSummary(closedContext);
const sketched = zipfSummary(smallContext);

/** The bytes with a checksum that fits again, so that damage reaches what lies behind it. */
function sealed(bytes: Uint8Array): Uint8Array {
  const copy = Buffer.from(bytes);
  if (copy.length < BODY_OFFSET) return copy;
  const head = crc32(copy.subarray(0, CRC_OFFSET));
  copy.writeUInt32LE(crc32(copy.subarray(BODY_OFFSET), head), CRC_OFFSET);
  return copy;
}

function changed(bytes: Uint8Array, offset: number, value: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[offset] = value;
  return copy;
}

/** Bytes of a header and the given body, sealed. */
function withBody(flags: number, ...body: readonly (readonly number[])[]): Uint8Array {
  const header = Buffer.alloc(BODY_OFFSET);
  header.write('TS');
  header[VERSION_OFFSET] = 1;
  header[FLAGS_OFFSET] = flags;
  header.writeUInt32LE(testHash.seedId, SEED_OFFSET);
  return sealed(Buffer.concat([header, Buffer.from(body.flat())]));
}

function section(id: number, payload: readonly number[]): number[] {
  return [id, payload.length & 255, payload.length >> 8, 0, 0, ...payload];
}

/** 2^53 - 1 */
const MAX_VARINT = [...Array<number>(7).fill(255), 15];
const ZEROS = Array<number>(SMALL_SHAPE.width * SMALL_SHAPE.depth).fill(0);
const ACTOR = [1, 2, 3, 4, 5, 6, 7, 8];
const HYLL = [...new HyperLogLog().encode()];
/** The columns of a table whose only item is "a", once. */
const A_ONCE = rows([['a', 1]]).slice(1);

/** A table with its count, its items all ASCII and its numbers all below 128. */
function rows(list: readonly (readonly [item: string, ...counts: number[]])[]): number[] {
  const texts = [...Buffer.from(list.map(([item]) => item).join(''))];
  const columns = [0, 1].flatMap((column) =>
    list.flatMap(([, ...counts]) => counts.slice(column, column + 1)),
  );
  const lengths = list.map(([item]) => item.length);
  return [list.length, texts.length, 0, 0, 0, ...texts, ...lengths, ...columns];
}

/** An item sketch of the small shape, with one thing or another changed. */
function cells(
  changes: {
    log2Width?: number[];
    depth?: number[];
    capacity?: number[];
    cut?: number[];
    rows?: [item: string, upper: number, gap: number][];
    cells?: number[];
  } = {},
): number[] {
  const { log2Width = [4], depth = [2], capacity = [4], cut = [0] } = changes;
  return [
    ...log2Width,
    ...depth,
    ...capacity,
    ...cut,
    ...rows(changes.rows ?? []),
    ...(changes.cells ?? ZEROS),
  ];
}

function decode(bytes: Uint8Array, context = smallContext): Summary {
  return decodeSummary(bytes, context);
}

/** Success or the declared error: whatever else comes out is a fault. */
function decodesOrRefuses(bytes: Uint8Array, context: SummaryContext): void {
  let summary: Summary;
  try {
    summary = decodeSummary(bytes, context);
  } catch (error) {
    if (error instanceof SketchDecodeError) return;
    throw error;
  }
  // Bytes that say their viewers stand apart are whole without them, and can only be read.
  if (!summary.viewersLoaded) return;
  // What was accepted can be used, and has one canonical form.
  const canonical = encodeSummary(summary);
  expect(hexOf(decodeSummary(canonical, context))).toBe(Buffer.from(canonical).toString('hex'));
  summary.merge(sketched);
}

/** They make bytes of an empty summary whose viewers stand apart: met once, by chance. */
const STANDS_APART: [number, number, number][] = [
  [983_690_702, 0, 0],
  [283_327_293, 36, 2],
  [274_101_503, 0, 1],
];

describe('damaged bytes are refused', () => {
  const bytes = encodeSummary(exact);

  it.each([
    ['the first byte of the magic', 0, 0x55],
    ['the second byte of the magic', 1, 0x54],
    ['the version, by a later one', VERSION_OFFSET, 2],
    ['the version, by none', VERSION_OFFSET, 0],
    ['an unknown flag', FLAGS_OFFSET, 32],
    ['a flag for cells that are not there', FLAGS_OFFSET, 1],
    ['a flag for registers that are not there', FLAGS_OFFSET, 2],
    ['the seed id', SEED_OFFSET, (bytes[SEED_OFFSET]! + 1) & 255],
    ['the checksum', CRC_OFFSET, (bytes[CRC_OFFSET]! + 1) & 255],
    ['the id of a section', BODY_OFFSET + 3, 9],
  ])('%s', (_what, offset, value) => {
    expect(bytes[offset]).not.toBe(value);
    expect(() => decode(changed(bytes, offset, value), closedContext)).toThrow(SketchDecodeError);
    // All but the checksum itself are refused also where the checksum fits.
    if (offset === CRC_OFFSET) return;
    const resealed = sealed(changed(bytes, offset, value));
    expect(() => decode(resealed, closedContext)).toThrow(SketchDecodeError);
  });

  it.each([
    ['the flag of sketched items is missing', encodeSummary(sketched), smallContext],
    ['the flag of exact items is missing', bytes, closedContext],
  ])('%s', (_what, whole, context) => {
    const flags = whole[FLAGS_OFFSET]!;
    const contrary = sealed(changed(whole, FLAGS_OFFSET, flags ^ 1));
    expect(() => decode(contrary, context)).toThrow('contradict');
  });

  it('as written under another hash key', () => {
    const other: SummaryContext = { hash: new KeyedHash({ k0: 5, k1: 6 }), shape: CLOSED_SHAPE };
    expect(() => decode(bytes, other)).toThrow('another hash key');
  });

  it.each([
    ['exact', encodeSummary(exact), closedContext],
    ['sketched', encodeSummary(sketched), smallContext],
  ])('when cut off at any length: %s', (_kind, whole, context) => {
    const step = Math.max(1, Math.floor(whole.length / 700));
    for (let length = 0; length < whole.length; length += step) {
      const cut = whole.subarray(0, length);
      expect(() => decode(cut, context)).toThrow(SketchDecodeError);
      decodesOrRefuses(sealed(cut), context);
    }
  });

  it('when one bit is wrong anywhere: the checksum knows', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(7), fc.boolean(), (place, bit, isExact) => {
        const whole = isExact ? bytes : encodeSummary(sketched);
        const offset = place % whole.length;
        const damaged = changed(whole, offset, whole[offset]! ^ (1 << bit));
        expect(() => decode(damaged, isExact ? closedContext : smallContext)).toThrow(
          SketchDecodeError,
        );
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['no totals', withBody(0)],
    ['a total above 2^53 - 1', withBody(0, [...Array(8).fill(255), 1], [0])],
    ['a section longer than the bytes', withBody(0, [0, 0], [1, 200, 0, 0, 0, 1])],
    ['a section without a length', withBody(0, [0, 0], [1, 2])],
    ['an empty item table', withBody(0, [0, 0], section(1, rows([])))],
    ['a table of more rows than there are bytes', withBody(0, [1, 0], section(1, [9, ...A_ONCE]))],
    ['a table of 2^53 - 1 rows', withBody(0, [1, 0], section(1, [...MAX_VARINT, ...A_ONCE]))],
    ['items longer than the bytes', withBody(0, [1, 0], section(1, [1, 9, 0, 0, 0, 97, 1, 1]))],
    ['an item longer than all items', withBody(0, [1, 0], section(1, [1, 1, 0, 0, 0, 97, 2, 1]))],
    [
      'items longer than all items',
      withBody(0, [2, 0], section(1, [2, 1, 0, 0, 0, 97, 1, 1, 1, 1])),
    ],
    [
      'items shorter than all items',
      withBody(0, [1, 0], section(1, [1, 2, 0, 0, 0, 97, 98, 1, 1])),
    ],
    ['an item that is no UTF-8', withBody(0, [1, 0], section(1, [1, 1, 0, 0, 0, 200, 1, 1]))],
    [
      'two items that share a character',
      withBody(0, [2, 0], section(1, [2, 3, 0, 0, 0, 97, 195, 169, 2, 1, 1, 1])),
    ],
    ['a count above the total', withBody(0, [1, 0], section(1, rows([['a', 2]])))],
    [
      'an item listed twice in a row',
      withBody(
        0,
        [2, 0],
        section(
          1,
          rows([
            ['a', 1],
            ['a', 1],
          ]),
        ),
      ),
    ],
    [
      'an item listed twice',
      withBody(
        0,
        [3, 0],
        section(
          1,
          rows([
            ['a', 1],
            ['b', 1],
            ['a', 1],
          ]),
        ),
      ),
    ],
    ['bytes behind the last row', withBody(0, [1, 0], section(1, [...rows([['a', 1]]), 0]))],
    [
      'two item tables',
      withBody(0, [2, 0], section(1, rows([['a', 1]])), section(1, rows([['b', 1]]))),
    ],
    ['sections out of order', withBody(0, [1, 0], section(3, ACTOR), section(1, rows([['a', 1]])))],
    ['section 0', withBody(0, [0, 0], section(0, []))],
    ['section 5, which a later version may add', withBody(0, [0, 0], section(5, [1]))],
    ['half an actor', withBody(0, [0, 0], section(3, ACTOR.slice(4)))],
    ['no actors at all', withBody(0, [0, 0], section(3, []))],
    ['an actor listed twice', withBody(0, [0, 0], section(3, [...ACTOR, ...ACTOR]))],
    ['registers that are none', withBody(2, [0, 0], section(4, [72, 89, 76, 76]))],
    ['actors twice', withBody(2, [0, 0], section(3, ACTOR), section(4, HYLL))],
    ['items twice', withBody(1, [1, 0], section(1, rows([['a', 1]])), section(2, cells()))],
    ['cells of width 1', withBody(1, [9, 0], section(2, cells({ log2Width: [0] })))],
    ['cells of width 2^200', withBody(1, [9, 0], section(2, cells({ log2Width: [200] })))],
    ['cells of no rows', withBody(1, [9, 0], section(2, cells({ depth: [0] })))],
    ['cells of 255 rows', withBody(1, [9, 0], section(2, cells({ depth: [255] })))],
    ['no room for candidates', withBody(1, [9, 0], section(2, cells({ capacity: [0] })))],
    [
      'room for 2^53 - 1 candidates',
      withBody(1, [9, 0], section(2, cells({ capacity: MAX_VARINT }))),
    ],
    [
      'more candidates than room',
      withBody(
        1,
        [9, 0],
        section(
          2,
          cells({
            capacity: [1],
            rows: [
              ['a', 1, 0],
              ['b', 1, 0],
            ],
          }),
        ),
      ),
    ],
    ['a cut-off above the total', withBody(1, [9, 0], section(2, cells({ cut: [10] })))],
    [
      'candidates out of order',
      withBody(
        1,
        [9, 0],
        section(
          2,
          cells({
            rows: [
              ['b', 1, 0],
              ['a', 1, 0],
            ],
          }),
        ),
      ),
    ],
    [
      'a candidate twice',
      withBody(
        1,
        [9, 0],
        section(
          2,
          cells({
            rows: [
              ['a', 1, 0],
              ['a', 1, 0],
            ],
          }),
        ),
      ),
    ],
    [
      'a candidate above the total',
      withBody(1, [9, 0], section(2, cells({ rows: [['a', 10, 0]] }))),
    ],
    ['a lower bound below 0', withBody(1, [9, 0], section(2, cells({ rows: [['a', 1, 2]] })))],
    [
      'a cell above the total',
      withBody(1, [9, 0], section(2, cells({ cells: [...ZEROS.slice(1), 10] }))),
    ],
    ['one cell too few', withBody(1, [9, 0], section(2, cells({ cells: ZEROS.slice(1) })))],
    ['one cell too many', withBody(1, [9, 0], section(2, cells({ cells: [...ZEROS, 0] })))],
  ])('with a checksum that fits: %s', (_what, damaged) => {
    expect(() => decode(damaged)).toThrow(SketchDecodeError);
  });

  it('while bytes of the same making without a fault are read', () => {
    const table = section(
      1,
      rows([
        ['a', 1],
        ['b', 2],
      ]),
    );
    const exactBytes = withBody(0, [3, 1], table, section(3, ACTOR));
    expect(decode(exactBytes)).toMatchObject({ total: 3, withoutActor: 1, itemCount: 2 });
    const unordered = withBody(
      0,
      [3, 0],
      section(
        1,
        rows([
          ['b', 2],
          ['a', 1],
        ]),
      ),
    );
    expect(decode(unordered)).toMatchObject({ total: 3, itemCount: 2 });
    const registers = withBody(2, [0, 0], section(4, HYLL));
    expect(decode(registers)).toMatchObject({ actorsExact: false });
    const sketchedBytes = withBody(
      1,
      [9, 0],
      section(
        2,
        cells({
          rows: [
            ['a', 9, 2],
            ['b', 1, 0],
          ],
        }),
      ),
    );
    const read = decode(sketchedBytes);
    expect(read.boundsOf(new ItemKey('a', testHash))).toEqual({ upper: 9, lower: 7 });
    expect(read.boundsOf(new ItemKey('b', testHash))).toEqual({ upper: 1, lower: 1 });
  });

  it('or read, but never anything else, after any mutation', () => {
    const mutations = fc.array(
      fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(0, 127, 128, 255)), fc.nat(4)),
      { minLength: 1, maxLength: 8 },
    );
    const wholes = [exact, sketched, new Summary(smallContext)].map(encodeSummary);
    fc.assert(
      fc.property(mutations, fc.constantFrom(...wholes), fc.boolean(), (list, whole, isHead) => {
        let bytes = Buffer.from(whole);
        for (const [place, value, kind] of list) {
          const offset = place % (isHead ? Math.min(bytes.length, 60) : bytes.length);
          if (kind === 0)
            bytes = Buffer.concat([
              bytes.subarray(0, offset),
              Buffer.of(value),
              bytes.subarray(offset),
            ]);
          else if (kind === 1)
            bytes = Buffer.concat([bytes.subarray(0, offset), bytes.subarray(offset + 1)]);
          else bytes[offset] = value;
        }
        for (const context of [closedContext, smallContext]) {
          decodesOrRefuses(sealed(bytes), context);
        }
      }),
      {
        numRuns: 1000,
        examples: [[STANDS_APART, encodeSummary(new Summary(smallContext)), false]],
      },
    );
  });

  it('or read, but never anything else, for any bytes at all', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(15), (body, flags) => {
        decodesOrRefuses(body, smallContext);
        decodesOrRefuses(withBody(flags, [...body]), smallContext);
      }),
      { numRuns: 1000 },
    );
  });
});
