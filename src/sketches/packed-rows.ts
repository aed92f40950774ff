/*
 * What      Rows of (item, upper, lower) as they were stored, read without making a string of any
 *           item: most of what a query reads it never looks at.
 * Paper     None: an offset table over the bytes, and binary search (Knuth, TAOCP 3, 6.2.1).
 * Params    None.
 * Guarantee The same rows, for ever: nothing changes them.
 * Memory    The stored bytes and 16 to 24 bytes a row.
 * Cost      reading: O(bytes). boundsOf: O(log rows), if the rows ascend by their items' bytes.
 * Merge     None: the owner unpacks the rows before it changes anything.
 * Not       No insertion, no order by count.
 */
import { type ByteReader, compareBytes } from '../lib/bytes.ts';
import type { Bounds } from './candidate.ts';
import type { KeyedHash } from './hash.ts';

export class PackedRows {
  readonly size: number;
  /** Whether the items ascend by their bytes; then no item occurs twice. */
  readonly isAscending: boolean;
  /** Row by row, like `lowers`; both are the same array where the two are always equal. */
  readonly uppers: Float64Array;
  readonly lowers: Float64Array;
  readonly #bytes: Buffer;
  readonly #starts: Uint32Array;
  readonly #ends: Uint32Array;

  /**
   * Reads rows of text, upper, and, if `hasGaps`, upper - lower. The caller has checked that the
   * bytes can hold so many.
   */
  constructor(reader: ByteReader, size: number, hasGaps: boolean) {
    this.size = size;
    this.uppers = new Float64Array(size);
    this.lowers = hasGaps ? new Float64Array(size) : this.uppers;
    this.#starts = new Uint32Array(size);
    this.#ends = new Uint32Array(size);
    const offset = reader.offset;
    for (let index = 0; index < size; index += 1) {
      const byteCount = reader.varint();
      const start = reader.skip(byteCount) - offset;
      this.#starts[index] = start;
      this.#ends[index] = start + byteCount;
      this.uppers[index] = reader.varint();
      if (hasGaps) this.lowers[index] = this.uppers[index]! - reader.varint();
    }
    const copy = reader.copyFrom(offset);
    this.#bytes = Buffer.from(copy.buffer, copy.byteOffset, copy.byteLength);
    this.isAscending = this.#ascends();
  }

  /** Bytes of the items alone. */
  get itemBytes(): number {
    let sum = 0;
    for (let index = 0; index < this.size; index += 1) {
      sum += this.#ends[index]! - this.#starts[index]!;
    }
    return sum;
  }

  get byteLength(): number {
    const numbers = this.uppers.byteLength + this.#starts.byteLength + this.#ends.byteLength;
    const lowers = this.lowers === this.uppers ? 0 : this.lowers.byteLength;
    return this.#bytes.byteLength + numbers + lowers;
  }

  item(index: number): string {
    return this.#bytes.toString('utf8', this.#starts[index], this.#ends[index]);
  }

  /** Hashes an item's bytes; the result lies in the hash. */
  hashItem(index: number, hash: KeyedHash): void {
    hash.hashBytes(this.#bytes, this.#starts[index]!, this.#ends[index]!);
  }

  /** By the item's bytes. The rows must ascend. */
  boundsOf(utf8: Uint8Array): Bounds | undefined {
    let low = 0;
    let high = this.size - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const order = this.#compare(middle, utf8, 0, utf8.length);
      if (order === 0) return { upper: this.uppers[middle]!, lower: this.lowers[middle]! };
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }

  #ascends(): boolean {
    for (let index = 1; index < this.size; index += 1) {
      const start = this.#starts[index]!;
      if (this.#compare(index - 1, this.#bytes, start, this.#ends[index]!) >= 0) return false;
    }
    return true;
  }

  #compare(index: number, other: Uint8Array, start: number, end: number): number {
    return compareBytes(this.#bytes, this.#starts[index]!, this.#ends[index]!, other, start, end);
  }
}
