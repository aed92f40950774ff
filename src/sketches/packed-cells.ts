/*
 * What      Count-min cells as they were stored, made into numbers only when one is looked into:
 *           for the top of a window the listed items are mostly enough.
 * Paper     None.
 * Params    None.
 * Guarantee The same cells, for ever. Faults of the bytes are found when they are read; of bytes
 *           that are trusted, when they are unpacked: each cell is then taken for the total, so
 *           that bounds still hold.
 * Memory    The bytes as stored, for most cells one.
 * Cost      reading, unpack: O(bytes); reading trusted ones: O(1).
 * Merge     None: the owner unpacks the cells before it changes anything.
 * Not       No access to a single cell.
 */
import { ByteReadError, ByteReader, ownBytes } from '../lib/bytes.ts';
import { type Counts, newCounts } from '../lib/counts.ts';

const TWO_POW_32 = 2 ** 32;

export class PackedCells {
  readonly length: number;
  readonly #max: number;
  readonly #bytes: Uint8Array;

  /** `bytes` hold `length` varints of at most `max`; they may be kept and must not change. */
  private constructor(bytes: Uint8Array, length: number, max: number) {
    this.length = length;
    this.#max = max;
    this.#bytes = ownBytes(bytes);
  }

  /** Throws ByteReadError, also for a number above `max`. */
  static read(reader: ByteReader, length: number, max: number): PackedCells {
    return new PackedCells(reader.packedVarints(length, max), length, max);
  }

  /** All that is left to read, as its writer is known to have written cells. */
  static readTrusted(reader: ByteReader, length: number, max: number): PackedCells {
    return new PackedCells(reader.raw(reader.remaining), length, max);
  }

  /** Of the cells once they are unpacked. */
  get byteLength(): number {
    return this.length * (this.#max < TWO_POW_32 ? 4 : 8);
  }

  unpack(): Counts {
    const cells = newCounts(this.length, this.#max);
    const reader = new ByteReader(this.#bytes);
    try {
      reader.varints(cells, this.#max);
      reader.expectEnd();
    } catch (error) {
      if (!(error instanceof ByteReadError)) throw error;
      cells.fill(this.#max);
    }
    return cells;
  }
}
