/*
 * What      Rows of (item, upper, lower) as they were stored, read without making a string of any
 *           item: most of what a query reads it never looks at.
 * Paper     None: an offset table over the bytes, and binary search (Knuth, TAOCP 3, 6.2.1).
 * Params    None.
 * Guarantee The same rows, for ever: nothing changes them.
 * Memory    The bytes of the items and 8 to 20 bytes a row; the few largest rows asked for last.
 * Cost      reading: O(bytes). boundsOf: O(log rows), if the rows ascend by their items' bytes.
 *           forEach: O(rows), or of the few largest, when they are asked for again, O(those).
 * Merge     None: the owner unpacks the rows before it changes anything.
 * Not       No insertion, no order by count.
 */
import { type ByteReader, ByteReadError, compareBytes, ownBytes } from '../lib/bytes.ts';
import { type Counts, newCounts } from '../lib/counts.ts';
import { isAscii, isUtf8 } from '../lib/utf8.ts';
import { nextAtLeast } from '../lib/nth-largest.ts';
import type { Bounds, Candidate, VisitRow } from './candidate.ts';
import type { KeyedHash } from './hash.ts';

/** The first two bits of a byte within a character of UTF-8 are 10. */
const CONTINUATION_MASK = 0xc0;
const CONTINUATION = 0x80;
const WORD_BYTES = 4;
/** So few rows are kept as objects: a window that is asked again wants the same ones. */
const LARGEST_KEPT_MAX = 128;
/** Rough cost in memory of one of them. */
const KEPT_ROW_BYTES = 100;

/** What is known of stored rows beforehand. */
export interface RowsFormat {
  /** The differences of the bounds are stored too. */
  readonly hasGaps: boolean;
  /** Their writer has sorted them; else it is found out. */
  readonly isAscending: boolean;
}

export class PackedRows {
  readonly size: number;
  /** Whether the items ascend by their bytes; then no item occurs twice. */
  readonly isAscending: boolean;
  /** Row by row, like `lowers`; both are the same array where the two are always equal. */
  readonly uppers: Counts;
  readonly lowers: Counts;
  /** The items' bytes, one after the other. */
  readonly #texts: Buffer;
  /** Where each item starts, and the end of the last one. */
  readonly #starts: Uint32Array;
  /** All rows whose upper bound is at least `least`, in their order, when they are few. */
  #largest: { readonly least: number; readonly rows: readonly Candidate[] } | null = null;

  /**
   * Reads a table as it is stored, column by column: 4 bytes length of all items together, their
   * bytes, the length of each, upper bounds and, if `hasGaps`, upper - lower. The caller has
   * checked that the bytes can hold `size` rows. Throws ByteReadError, also for a count above
   * `countMax`. The bytes may be kept: they must not change any more.
   */
  constructor(reader: ByteReader, size: number, countMax: number, format: RowsFormat) {
    this.size = size;
    const byteCount = reader.uint32();
    this.#texts = ownBytes(reader.raw(byteCount));
    this.#starts = new Uint32Array(size + 1);
    reader.varints(this.#starts.subarray(1), byteCount);
    // Not in addUp: what follows a loop makes the engine give up its code for it, on a cold start.
    if (addUp(this.#starts, this.#texts) !== byteCount) {
      throw new ByteReadError('the items do not fit their lengths');
    }
    this.uppers = newCounts(size, countMax);
    reader.varints(this.uppers, countMax);
    this.lowers = format.hasGaps ? readLowers(reader, this.uppers, countMax) : this.uppers;
    this.isAscending = format.isAscending || ascend(this.#texts, this.#starts);
  }

  /** Bytes of the items alone. */
  get itemBytes(): number {
    return this.#texts.length;
  }

  get byteLength(): number {
    const lowers = this.lowers === this.uppers ? 0 : this.lowers.byteLength;
    return (
      this.#texts.buffer.byteLength +
      this.#starts.byteLength +
      this.uppers.byteLength +
      lowers +
      Math.min(this.size, LARGEST_KEPT_MAX) * KEPT_ROW_BYTES
    );
  }

  item(index: number): string {
    return this.#texts.toString('utf8', this.#starts[index], this.#starts[index + 1]);
  }

  /** Calls back for each row whose upper bound is at least `least`, in their order. */
  forEach(visit: VisitRow, least: number): void {
    const known = this.#largest;
    if (known !== null && known.least <= least) {
      for (const { item, upper, lower } of known.rows) {
        if (upper >= least) visit(item, upper, lower);
      }
      return;
    }
    const rows: Candidate[] = [];
    let index = nextAtLeast(this.uppers, 0, least);
    while (index < this.size) {
      const row = {
        item: this.item(index),
        upper: this.uppers[index]!,
        lower: this.lowers[index]!,
      };
      if (rows.length <= LARGEST_KEPT_MAX) rows.push(row);
      visit(row.item, row.upper, row.lower);
      index = nextAtLeast(this.uppers, index + 1, least);
    }
    if (rows.length <= LARGEST_KEPT_MAX) this.#largest = { least, rows };
  }

  /** Hashes an item's bytes; the result lies in the hash. */
  hashItem(index: number, hash: KeyedHash): void {
    hash.hashBytes(this.#texts, this.#starts[index]!, this.#starts[index + 1]!);
  }

  /** By the item's bytes. The rows must ascend. */
  boundsOf(utf8: Uint8Array): Bounds | undefined {
    const row = this.rowOf(utf8);
    return row < 0 ? undefined : { upper: this.uppers[row]!, lower: this.lowers[row]! };
  }

  /** Index of the row with an item's bytes, or -1. The rows must ascend. */
  rowOf(utf8: Uint8Array): number {
    let low = 0;
    let high = this.size - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const order = this.#compare(middle, utf8, 0, utf8.length);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  #compare(index: number, other: Uint8Array, start: number, end: number): number {
    const starts = this.#starts;
    return compareBytes(this.#texts, starts[index]!, starts[index + 1]!, other, start, end);
  }
}

/**
 * From the lengths of the items, each one place too far back, to where they start. All items are
 * UTF-8 if together they are and none starts within a character.
 */
function addUp(starts: Uint32Array, texts: Uint8Array): number {
  const isOfBytes = isAscii(texts);
  if (!isOfBytes && !isUtf8(texts)) throw new ByteReadError('an item is no text');
  let start = 0;
  for (let index = 1; index < starts.length; index += 1) {
    if (!isOfBytes && (texts[start]! & CONTINUATION_MASK) === CONTINUATION) {
      throw new ByteReadError('an item is no text');
    }
    start += starts[index]!;
    starts[index] = start;
  }
  return start;
}

/**
 * Whether each item is less than the next. Compares words where it can, since all bytes of a table
 * pass here: read with the high byte first, they are in the order of their bytes.
 */
function ascend(texts: Buffer, starts: Uint32Array): boolean {
  const words = new DataView(texts.buffer, texts.byteOffset, texts.byteLength);
  let before = 0;
  let start = starts[1]!;
  for (let index = 1; index + 1 < starts.length; index += 1) {
    const end = starts[index + 1]!;
    const length = Math.min(start - before, end - start);
    let at = 0;
    let order = 0;
    while (order === 0 && at + WORD_BYTES <= length) {
      order = words.getUint32(before + at) - words.getUint32(start + at);
      at += WORD_BYTES;
    }
    while (order === 0 && at < length) {
      order = texts[before + at]! - texts[start + at]!;
      at += 1;
    }
    if (order > 0 || (order === 0 && start - before >= end - start)) return false;
    before = start;
    start = end;
  }
  return true;
}

function readLowers(reader: ByteReader, uppers: Counts, countMax: number): Counts {
  const lowers = newCounts(uppers.length, countMax);
  reader.varints(lowers, countMax);
  for (let index = 0; index < uppers.length; index += 1) {
    if (lowers[index]! > uppers[index]!) throw new ByteReadError('a lower bound is below 0');
    lowers[index] = uppers[index]! - lowers[index]!;
  }
  return lowers;
}
