/*
 * What      Which actors did each item have? Exactly, as a set of pairs (item, hash of an actor).
 * Paper     Open addressing with linear probing: Knuth, TAOCP 3, 6.4, algorithm L.
 * Params    The table that the items are rows of. A hash is a pair (lo, hi) of unsigned 32-bit
 *           halves of a keyed hash.
 * Guarantee An item's number of hashes is that of its different actors, always (but for equal
 *           hashes of different actors, see actor-set.ts).
 * Memory    8 bytes a pair as read; 12 bytes a slot once it is added to.
 * Cost      add O(1) expected. The first look after an add O(slots + rows); then an item's pairs
 *           cost a look into the item table.
 * Merge     Union of the pairs: the same in any order and grouping.
 * Not       No removal, no limit of its own: the owner changes over to viewer-sketch.ts.
 */
import type { Counts } from '../lib/counts.ts';
import type { ItemKey } from './item-key.ts';
import type { ItemTable } from './item-table.ts';
import { BYTES_PER_HASH, VIEWERS_FRAME_BYTES } from './viewer-set.ts';
import type { ViewerUnion } from './viewer-union.ts';

const SLOTS_INITIAL = 16;
const LOAD_MAX = 0.75;
const WORDS_PER_SLOT = 3;
/** Odd: spreads the rows over the slots. */
const ROW_SPREAD = 0x9e3779b1;
/** Up to so many words of a row are sorted by insertion. */
const INSERTION_WORDS_MAX = 32;

/**
 * The pairs row by row: the words of row r (lo, hi in turn, by hi:lo ascending) lie from starts[r]
 * up to starts[r + 1]. Rows that came later than the last with a pair are not in it.
 */
export interface PairGroups {
  readonly starts: Uint32Array;
  readonly words: Uint32Array<ArrayBuffer>;
}

export class PairTable {
  /** What an item without pairs has. */
  readonly cut = 0;
  readonly #items: ItemTable;
  #size = 0;
  /** Rows up to the last with a pair. */
  #rowCount = 0;
  /** Row + 1, lo, hi; 0 in the first place is a free slot. The slot count is a power of two. */
  #slots = new Uint32Array(0);
  /** The same pairs, as they were read or as they were when somebody looked last. */
  #groups: PairGroups | null = null;

  constructor(items: ItemTable) {
    this.#items = items;
  }

  /** Takes stored pairs over. */
  static of(items: ItemTable, groups: PairGroups): PairTable {
    const table = new PairTable(items);
    table.#size = groups.words.length / 2;
    table.#rowCount = groups.starts.length - 1;
    table.#groups = groups;
    return table;
  }

  /** Number of pairs. */
  get size(): number {
    return this.#size;
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    const { starts, words } = this.#groups ?? { starts: this.#slots, words: [] };
    return 4 * (starts.length + words.length);
  }

  get groups(): PairGroups {
    this.#groups ??= groupsOf(this.#slots, this.#size, this.#rowCount);
    return this.#groups;
  }

  /** Says whether the pair is new. */
  add(row: number, lo: number, hi: number): boolean {
    if (this.#groups !== null) this.#open(this.#groups);
    return this.#addToSlots(row, lo, hi);
  }

  /** Adds the pairs of the other, whose rows are here those given; the other is unchanged. */
  merge(other: PairTable, rows: Uint32Array): void {
    const { starts, words } = other.groups;
    for (let row = 0; row + 1 < starts.length; row += 1) {
      const end = starts[row + 1]!;
      for (let at = starts[row]!; at < end; at += 2) {
        this.add(rows[row]!, words[at]!, words[at + 1]!);
      }
    }
  }

  /** Numbers of actors by row. */
  uppers(): Counts {
    const { starts } = this.groups;
    const uppers = new Uint32Array(Math.max(0, starts.length - 1));
    for (let row = 0; row < uppers.length; row += 1) {
      uppers[row] = (starts[row + 1]! - starts[row]!) / 2;
    }
    return uppers;
  }

  /** Visits each item that has at least `least` actors, and some at least, with their number. */
  forEachUpper(visit: (item: string, upper: number, row: number) => void, least = 0): void {
    const { starts } = this.groups;
    const wordsMin = Math.max(2 * least, 1);
    for (let row = 0; row + 1 < starts.length; row += 1) {
      const words = starts[row + 1]! - starts[row]!;
      if (words >= wordsMin) visit(this.#items.item(row), words / 2, row);
    }
  }

  /** The item's row, or -1 if it has no actors. */
  rowOf(key: ItemKey): number {
    const { starts } = this.groups;
    const row = this.#items.rowOf(key);
    return row + 1 < starts.length && row >= 0 && starts[row]! < starts[row + 1]! ? row : -1;
  }

  /** Adds an item's actors to a union. */
  gather(key: ItemKey, _events: number, union: ViewerUnion): void {
    const { starts, words } = this.groups;
    const row = this.rowOf(key);
    if (row >= 0) union.addWords(words, starts[row]!, starts[row + 1]!);
  }

  /** For a clone of the item table. */
  clone(items: ItemTable): PairTable {
    return PairTable.of(items, this.groups);
  }

  #addToSlots(row: number, lo: number, hi: number): boolean {
    if ((this.#size + 1) * WORDS_PER_SLOT > this.#slots.length * LOAD_MAX) {
      this.#slots = rehashed(this.#slots);
    }
    const slots = this.#slots;
    let place = placeOf(row, lo, slots.length);
    while (slots[place] !== 0) {
      if (slots[place] === row + 1 && slots[place + 1] === lo && slots[place + 2] === hi) {
        return false;
      }
      place = next(place, slots.length);
    }
    slots[place] = row + 1;
    slots[place + 1] = lo;
    slots[place + 2] = hi;
    this.#size += 1;
    if (row >= this.#rowCount) this.#rowCount = row + 1;
    return true;
  }

  /** From groups to slots, to be added to. */
  #open({ starts, words }: PairGroups): void {
    this.#groups = null;
    // Groups that were made of the slots are all still there.
    if (this.#slots.length > 0) return;
    this.#size = 0;
    for (let row = 0; row + 1 < starts.length; row += 1) {
      const end = starts[row + 1]!;
      for (let at = starts[row]!; at < end; at += 2) {
        this.#addToSlots(row, words[at]!, words[at + 1]!);
      }
    }
  }
}

/** Bytes that so many pairs of so many items take when stored, at most. */
export function pairBytes(pairCount: number, rowCount: number): number {
  // Each row has a number of pairs, of one byte below 128.
  const numbers = rowCount + pairCount / 128;
  return VIEWERS_FRAME_BYTES + numbers + pairCount * BYTES_PER_HASH;
}

/** A pair's first place: the hash is keyed, so that nobody outside can aim at one slot. */
function placeOf(row: number, lo: number, length: number): number {
  return WORDS_PER_SLOT * ((lo ^ Math.imul(row, ROW_SPREAD)) & (length / WORDS_PER_SLOT - 1));
}

function next(place: number, length: number): number {
  const following = place + WORDS_PER_SLOT;
  return following === length ? 0 : following;
}

function rehashed(slots: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(2 * slots.length, SLOTS_INITIAL * WORDS_PER_SLOT));
  for (let from = 0; from < slots.length; from += WORDS_PER_SLOT) {
    if (slots[from] === 0) continue;
    let place = placeOf(slots[from]! - 1, slots[from + 1]!, larger.length);
    while (larger[place] !== 0) place = next(place, larger.length);
    larger[place] = slots[from]!;
    larger[place + 1] = slots[from + 1]!;
    larger[place + 2] = slots[from + 2]!;
  }
  return larger;
}

function groupsOf(slots: Uint32Array, size: number, rowCount: number): PairGroups {
  const starts = new Uint32Array(rowCount + 1);
  // A used slot holds row + 1: the place after the row's own start.
  for (let place = 0; place < slots.length; place += WORDS_PER_SLOT) {
    if (slots[place] !== 0) starts[slots[place]!]! += 2;
  }
  for (let row = 1; row <= rowCount; row += 1) starts[row]! += starts[row - 1]!;
  const ends = starts.slice();
  const words = new Uint32Array(2 * size);
  for (let place = 0; place < slots.length; place += WORDS_PER_SLOT) {
    if (slots[place] === 0) continue;
    const row = slots[place]! - 1;
    const at = ends[row]!;
    words[at] = slots[place + 1]!;
    words[at + 1] = slots[place + 2]!;
    ends[row] = at + 2;
  }
  for (let row = 0; row < rowCount; row += 1) sortPairs(words, starts[row]!, starts[row + 1]!);
  return { starts, words };
}

/** By the 64-bit numbers hi:lo. */
function sortPairs(words: Uint32Array<ArrayBuffer>, start: number, end: number): void {
  if (end - start > INSERTION_WORDS_MAX) {
    // On a little-endian machine the pair lo, hi is the 64-bit number hi:lo in memory.
    new BigUint64Array(words.buffer, 4 * start, (end - start) / 2).sort();
    return;
  }
  for (let from = start + 2; from < end; from += 2) {
    const lo = words[from]!;
    const hi = words[from + 1]!;
    let at = from;
    while (at > start && isAfter(words[at - 2]!, words[at - 1]!, lo, hi)) {
      words[at] = words[at - 2]!;
      words[at + 1] = words[at - 1]!;
      at -= 2;
    }
    words[at] = lo;
    words[at + 1] = hi;
  }
}

/** Whether the first of two hashes is the larger one. */
export function isAfter(aLo: number, aHi: number, bLo: number, bHi: number): boolean {
  return aHi > bHi || (aHi === bHi && aLo > bLo);
}
