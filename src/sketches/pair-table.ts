/*
 * What      Which actors did each item have? Exactly, as a set of pairs (item, hash of an actor).
 * Paper     Open addressing with linear probing: Knuth, TAOCP 3, 6.4, algorithm L.
 * Params    None. A hash is a pair (lo, hi) of unsigned 32-bit halves of a keyed hash.
 * Guarantee An item's number of hashes is that of its different actors, always (but for equal
 *           hashes of different actors, see actor-set.ts).
 * Memory    8 bytes a pair, as read; while it is added to, 12 bytes a slot and an entry of a map
 *           for each item.
 * Cost      add O(1) expected. The first look after an add O(slots); then an item's pairs O(1),
 *           or O(log items) as read.
 * Merge     Union of the pairs: the same in any order and grouping.
 * Not       No removal, no limit of its own: the owner changes over to viewer-sketch.ts.
 */
import type { Counts } from '../lib/counts.ts';
import type { ItemKey } from './item-key.ts';
import type { PackedRows } from './packed-rows.ts';
import type { ViewerUnion } from './viewer-union.ts';

const SLOTS_INITIAL = 16;
const LOAD_MAX = 0.75;
const WORDS_PER_SLOT = 3;
const MAP_ENTRY_BYTES = 80;
/** Odd: spreads the numbers of the items over the slots. */
const ROW_SPREAD = 0x9e3779b1;

/** Called with an item and where its pairs lie in the words: from `start` up to `end`. */
export type VisitViewers = (item: string, words: Uint32Array, start: number, end: number) => void;

/** The pairs item by item: those of row r lie from starts[r] up to starts[r + 1]. */
interface Groups {
  readonly size: number;
  readonly item: (row: number) => string;
  /** -1 for an item without pairs. */
  readonly rowOf: (key: ItemKey) => number;
  readonly starts: Uint32Array;
  /** lo, hi in turn. */
  readonly words: Uint32Array;
}

export class PairTable {
  #size = 0;
  readonly #rows = new Map<string, number>();
  /** Row + 1, lo, hi; 0 in the first place is a free slot. The slot count is a power of two. */
  #slots = new Uint32Array(0);
  /** The same pairs, as they were read or as they were when somebody looked last. */
  #groups: Groups | null = null;

  /**
   * Takes over what was stored beside the rows of an item table: in the order of the rows, how many
   * pairs each has (in `starts`, summed up), and their words.
   */
  static of(rows: PackedRows, starts: Uint32Array, words: Uint32Array): PairTable {
    const table = new PairTable();
    table.#size = words.length / 2;
    table.#groups = groupsOfRows(rows, starts, words);
    return table;
  }

  /** Number of pairs. */
  get size(): number {
    return this.#size;
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    const { length } = this.#groups?.words ?? this.#slots;
    return 4 * length + this.#rows.size * MAP_ENTRY_BYTES;
  }

  add(item: string, lo: number, hi: number): void {
    this.#add(this.#rowOf(item), lo, hi);
  }

  /** The other is unchanged. */
  merge(other: PairTable): void {
    other.forEach((item, words, start, end) => {
      if (start === end) return;
      const row = this.#rowOf(item);
      for (let at = start; at < end; at += 2) this.#add(row, words[at]!, words[at + 1]!);
    });
  }

  /** Visits every item with its pairs, in no particular order; some may have none. */
  forEach(visit: VisitViewers): void {
    const { size, item, starts, words } = this.#grouped();
    for (let row = 0; row < size; row += 1) {
      visit(item(row), words, starts[row]!, starts[row + 1]!);
    }
  }

  /** The same for one item. */
  visit(key: ItemKey, visit: VisitViewers): void {
    const groups = this.#grouped();
    const row = groups.rowOf(key);
    if (row < 0) return;
    visit(key.item, groups.words, groups.starts[row]!, groups.starts[row + 1]!);
  }

  /** Of an item without pairs there are no actors. */
  readonly cut = 0;

  /** Numbers of actors of all items, in no particular order. */
  uppers(): Counts {
    const { size, starts } = this.#grouped();
    const uppers = new Uint32Array(size);
    for (let row = 0; row < size; row += 1) uppers[row] = (starts[row + 1]! - starts[row]!) / 2;
    return uppers;
  }

  /** Visits each item that has at least `least` actors, and some at least, with their number. */
  forEachUpper(visit: (item: string, upper: number) => void, least = 0): void {
    const { size, item, starts } = this.#grouped();
    const wordsMin = Math.max(2 * least, 1);
    for (let row = 0; row < size; row += 1) {
      const words = starts[row + 1]! - starts[row]!;
      if (words >= wordsMin) visit(item(row), words / 2);
    }
  }

  /** Adds an item's actors to a union. */
  gather(key: ItemKey, _events: number, union: ViewerUnion): void {
    this.visit(key, (_item, words, start, end) => union.addWords(words, start, end));
  }

  clone(): PairTable {
    const copy = new PairTable();
    copy.#size = this.#size;
    copy.#groups = this.#grouped();
    return copy;
  }

  #rowOf(item: string): number {
    if (this.#groups !== null) this.#open(this.#groups);
    const known = this.#rows.get(item);
    if (known !== undefined) return known;
    const row = this.#rows.size;
    this.#rows.set(item, row);
    return row;
  }

  #add(row: number, lo: number, hi: number): void {
    if ((this.#size + 1) * WORDS_PER_SLOT > this.#slots.length * LOAD_MAX) this.#grow();
    const slots = this.#slots;
    let place = placeOf(row, lo, slots.length / WORDS_PER_SLOT);
    while (slots[place] !== 0) {
      if (slots[place] === row + 1 && slots[place + 1] === lo && slots[place + 2] === hi) return;
      place = next(place, slots.length);
    }
    slots[place] = row + 1;
    slots[place + 1] = lo;
    slots[place + 2] = hi;
    this.#size += 1;
  }

  #grow(): void {
    const before = this.#slots;
    const slots = new Uint32Array(Math.max(2 * before.length, SLOTS_INITIAL * WORDS_PER_SLOT));
    for (let from = 0; from < before.length; from += WORDS_PER_SLOT) {
      if (before[from] === 0) continue;
      const lo = before[from + 1]!;
      let place = placeOf(before[from]! - 1, lo, slots.length / WORDS_PER_SLOT);
      while (slots[place] !== 0) place = next(place, slots.length);
      slots[place] = before[from]!;
      slots[place + 1] = lo;
      slots[place + 2] = before[from + 2]!;
    }
    this.#slots = slots;
  }

  /** From groups to slots, to be added to. */
  #open({ size, item, starts, words }: Groups): void {
    this.#groups = null;
    // The groups were made of the slots, which are all still there.
    if (this.#slots.length > 0) return;
    this.#size = 0;
    for (let row = 0; row < size; row += 1) {
      const start = starts[row]!;
      const end = starts[row + 1]!;
      if (start === end) continue;
      const own = this.#rows.size;
      this.#rows.set(item(row), own);
      for (let at = start; at < end; at += 2) this.#add(own, words[at]!, words[at + 1]!);
    }
  }

  #grouped(): Groups {
    this.#groups ??= groupsOfSlots(this.#rows, this.#slots, this.#size);
    return this.#groups;
  }
}

/** A pair's first place: the hash is keyed, so that nobody outside can aim at one slot. */
function placeOf(row: number, lo: number, slotCount: number): number {
  return WORDS_PER_SLOT * ((lo ^ Math.imul(row, ROW_SPREAD)) & (slotCount - 1));
}

function next(place: number, length: number): number {
  const following = place + WORDS_PER_SLOT;
  return following === length ? 0 : following;
}

function groupsOfSlots(
  rows: ReadonlyMap<string, number>,
  slots: Uint32Array,
  size: number,
): Groups {
  const names = [...rows.keys()];
  const starts = new Uint32Array(names.length + 1);
  for (let place = 0; place < slots.length; place += WORDS_PER_SLOT) {
    // A used slot holds row + 1: the place after the row's own start.
    if (slots[place] !== 0) starts[slots[place]!]! += 2;
  }
  for (let row = 1; row < starts.length; row += 1) starts[row]! += starts[row - 1]!;
  const words = new Uint32Array(2 * size);
  const ends = starts.slice();
  for (let place = 0; place < slots.length; place += WORDS_PER_SLOT) {
    if (slots[place] === 0) continue;
    const row = slots[place]! - 1;
    words[ends[row]!] = slots[place + 1]!;
    words[ends[row]! + 1] = slots[place + 2]!;
    ends[row]! += 2;
  }
  return {
    size: names.length,
    item: (row) => names[row]!,
    rowOf: ({ item }) => {
      const row = rows.get(item) ?? -1;
      // The table may have grown since.
      return row < names.length ? row : -1;
    },
    starts,
    words,
  };
}

function groupsOfRows(rows: PackedRows, starts: Uint32Array, words: Uint32Array): Groups {
  let unordered: Map<string, number> | null = null;
  const rowOf = (item: string): number => {
    unordered ??= new Map(Array.from({ length: rows.size }, (_, row) => [rows.item(row), row]));
    return unordered.get(item) ?? -1;
  };
  return {
    size: rows.size,
    item: (row) => rows.item(row),
    rowOf: (key) => (rows.isAscending ? rows.rowOf(key.utf8) : rowOf(key.item)),
    starts,
    words,
  };
}
