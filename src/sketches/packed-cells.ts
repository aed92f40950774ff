/*
 * What      Count-min cells as they were stored, made into numbers only when one is looked into:
 *           for the top of a window the listed items are mostly enough.
 * Paper     None.
 * Params    None.
 * Guarantee The same cells, for ever. All faults of the bytes are found when they are read.
 * Memory    The bytes as stored, for most cells one.
 * Cost      reading, unpack: O(bytes).
 * Merge     None: the owner unpacks the cells before it changes anything.
 * Not       No access to a single cell.
 */
import { ByteReader, ownBytes } from '../lib/bytes.ts';
import { type Counts, newCounts } from '../lib/counts.ts';

const TWO_POW_32 = 2 ** 32;

export class PackedCells {
  readonly length: number;
  readonly #max: number;
  readonly #bytes: Uint8Array;

  /**
   * Reads `length` varints; throws ByteReadError, also for one above `max`. The bytes may be kept:
   * they must not change any more.
   */
  constructor(reader: ByteReader, length: number, max: number) {
    this.length = length;
    this.#max = max;
    this.#bytes = ownBytes(reader.packedVarints(length, max));
  }

  /** Of the cells once they are unpacked. */
  get byteLength(): number {
    return this.length * (this.#max < TWO_POW_32 ? 4 : 8);
  }

  unpack(): Counts {
    const cells = newCounts(this.length, this.#max);
    new ByteReader(this.#bytes).varints(cells, this.#max);
    return cells;
  }
}
