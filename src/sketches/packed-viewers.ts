/*
 * What      The entries of a viewer sketch as they were stored, read without making an object or a
 *           string of any of them: most of what a query reads it never looks at.
 * Paper     None: columns, and binary search as in packed-rows.ts.
 * Params    None.
 * Guarantee The same entries, for ever. All faults of the bytes are found when they are read.
 * Memory    The bytes as stored and 28 bytes an entry.
 * Cost      reading: O(bytes). indexOf: O(log entries). uppers: the first time O(registers).
 * Merge     None: the owner unpacks the entries before it changes anything.
 * Not       No order by the number of actors.
 */
import { type ByteReader, ownBytes } from '../lib/bytes.ts';
import { PackedRows } from './packed-rows.ts';
import { isAfter } from './pair-table.ts';
import { SketchDecodeError } from './sketch-decode-error.ts';
import {
  BYTES_PER_HASH,
  packedEstimate,
  registersInRange,
  upperOfEstimate,
  VIEWER_HASHES_MAX,
  VIEWER_REGISTERS_BYTES,
  ViewerSet,
} from './viewer-set.ts';
import type { ViewerUnion } from './viewer-union.ts';

export class PackedViewers {
  readonly size: number;
  /** The items; their counts are what was missed of each. */
  readonly #rows: PackedRows;
  /** Of each entry; 0: it has registers. */
  readonly #hashCounts: Uint32Array;
  /** Where an entry's hashes start in the words, or its registers in their bytes. */
  readonly #starts: Uint32Array;
  /** The hashes as lo, hi in turn. */
  readonly #words: Uint32Array;
  readonly #registers: Uint8Array;
  #uppers: Float64Array | null = null;

  /**
   * Reads the columns of `size` entries to the end (viewer-codec.ts). The caller has checked that
   * the bytes can hold so many. Throws SketchDecodeError and ByteReadError. The bytes may be kept:
   * they must not change any more.
   */
  constructor(reader: ByteReader, size: number) {
    this.size = size;
    const format = { hasGaps: false, isAscending: false };
    this.#rows = new PackedRows(reader, size, Number.MAX_SAFE_INTEGER, format);
    if (!this.#rows.isAscending) throw new SketchDecodeError('viewers: items are out of order');
    this.#hashCounts = new Uint32Array(size);
    reader.varints(this.#hashCounts, VIEWER_HASHES_MAX);
    this.#starts = new Uint32Array(size);
    let wordCount = 0;
    let registerBytes = 0;
    for (let index = 0; index < size; index += 1) {
      const hashCount = this.#hashCounts[index]!;
      this.#starts[index] = hashCount === 0 ? registerBytes : wordCount;
      wordCount += 2 * hashCount;
      if (hashCount === 0) registerBytes += VIEWER_REGISTERS_BYTES;
    }
    // Looked at before room is made for the words.
    const hashBytes = reader.raw((wordCount / 2) * BYTES_PER_HASH);
    this.#words = new Uint32Array(wordCount);
    // On a little-endian machine they lie in memory as they are stored.
    new Uint8Array(this.#words.buffer).set(hashBytes);
    if (!this.#hashesAscend()) throw new SketchDecodeError('viewers: hashes are out of order');
    this.#registers = ownBytes(reader.raw(registerBytes));
    if (!registersInRange(this.#registers)) {
      throw new SketchDecodeError('viewers: a register is out of range');
    }
  }

  get byteLength(): number {
    const { byteLength } = this.#rows;
    return byteLength + 4 * this.#words.length + this.#registers.length + 16 * this.size;
  }

  /** What each entry may have at most. */
  get uppers(): Float64Array {
    this.#uppers ??= Float64Array.from(this.#hashCounts, (hashCount, index) => {
      const missed = this.missed(index);
      if (hashCount > 0) return hashCount + missed;
      return upperOfEstimate(packedEstimate(this.#registers, this.#starts[index]!)) + missed;
    });
    return this.#uppers;
  }

  item(index: number): string {
    return this.#rows.item(index);
  }

  missed(index: number): number {
    return this.#rows.uppers[index]!;
  }

  /** By the item's bytes; -1 if it is not listed. */
  indexOf(utf8: Uint8Array): number {
    return this.#rows.rowOf(utf8);
  }

  /** Adds an entry's actors to a union. */
  gather(index: number, union: ViewerUnion): void {
    const start = this.#starts[index]!;
    const hashCount = this.#hashCounts[index]!;
    if (hashCount === 0) union.addRegisters(this.#registers, start);
    else union.addWords(this.#words, start, start + 2 * hashCount);
  }

  set(index: number): ViewerSet {
    const set = new ViewerSet();
    const start = this.#starts[index]!;
    const hashCount = this.#hashCounts[index]!;
    if (hashCount === 0) set.addPackedRegisters(this.#registers, start);
    else set.addWords(this.#words, start, start + 2 * hashCount);
    return set;
  }

  /** So that no actor of an item is listed twice. */
  #hashesAscend(): boolean {
    const words = this.#words;
    for (let index = 0; index < this.size; index += 1) {
      const start = this.#starts[index]!;
      const end = start + 2 * this.#hashCounts[index]!;
      for (let at = start + 2; at < end; at += 2) {
        if (!isAfter(words[at]!, words[at + 1]!, words[at - 2]!, words[at - 1]!)) return false;
      }
    }
    return true;
  }
}
