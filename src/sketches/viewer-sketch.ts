/*
 * What      Which items had most different actors, and about how many? Small sets for the items
 *           with most, within so many bytes, and a cut-off for the others.
 * Paper     A distinct count for each heavy item, as "frequent distinct tuples" in Apache
 *           DataSketches; sets as in viewer-set.ts. The cut-off is that of item-sketch.ts: mergeable
 *           summaries, Agarwal et al., 2012.
 * Params    bytesMax: bytes that the listed items and their sets take when stored, at most.
 * Guarantee For an item: its set's actors + `missed` is no less than its different actors. One that
 *           is not listed has at most `cut`. Both as far as the sets are exact; a set of registers
 *           counts for three standard errors more than its estimate (99.9 % of the time enough).
 * Memory    At most about twice bytesMax.
 * Cost      merge: O(items of both + registers of those in both), and a sort if it does not fit.
 * Merge     Sets of equal items unite. An item that one side does not list may have had its cut-off
 *           there: that much more is missed. cut = max(cut + cut, largest upper bound dropped).
 *           Regrouping changes lists, missed and cut, never whether the bounds hold.
 * Not       No removal; it cannot count an item that was not listed from the first on.
 */
import type { Counts } from '../lib/counts.ts';
import { compareUtf8, utf8Length } from '../lib/utf8.ts';
import type { ItemKey } from './item-key.ts';
import type { PairTable } from './pair-table.ts';
import { ViewerSet } from './viewer-set.ts';
import type { ViewerUnion } from './viewer-union.ts';

/** Of an entry beside its item and set: lengths and numbers, at most. */
const ENTRY_BYTES = 13;
const MAP_ENTRY_BYTES = 160;
const UPPER_ERRORS = 3;

export interface ViewerEntry {
  readonly set: ViewerSet;
  /** The item may have had so many more actors, in what did not list it. */
  missed: number;
}

export class ViewerSketch {
  readonly bytesMax: number;
  /** No item that is not listed has more actors. */
  cut: number;
  #entries: Map<string, ViewerEntry>;

  constructor(bytesMax: number, cut = 0, entries = new Map<string, ViewerEntry>()) {
    this.bytesMax = bytesMax;
    this.cut = cut;
    this.#entries = entries;
  }

  static ofPairs(pairs: PairTable, bytesMax: number): ViewerSketch {
    const sketch = new ViewerSketch(bytesMax);
    sketch.mergePairs(pairs);
    return sketch;
  }

  get entries(): ReadonlyMap<string, ViewerEntry> {
    return this.#entries;
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    let bytes = 0;
    for (const { set } of this.#entries.values()) bytes += MAP_ENTRY_BYTES + set.byteLength;
    return bytes;
  }

  get(key: ItemKey): ViewerEntry | undefined {
    return this.#entries.get(key.item);
  }

  /** What the listed items may have at most, in no particular order. */
  uppers(): Counts {
    return Float64Array.from(this.#entries.values(), upperOf);
  }

  /** Visits each listed item that may have at least `least` actors. */
  forEachUpper(visit: (item: string, upper: number) => void, least = 0): void {
    for (const [item, entry] of this.#entries) {
      const upper = upperOf(entry);
      if (upper >= least) visit(item, upper);
    }
  }

  /** Adds what is known of an item's actors to a union; it had at most so many events here. */
  gather(key: ItemKey, events: number, union: ViewerUnion): void {
    const entry = this.#entries.get(key.item);
    if (entry !== undefined) union.addSet(entry.set);
    union.addMissed(Math.min(entry?.missed ?? this.cut, events));
  }

  /** The pairs list all their items: what is not in them has not missed anything. */
  mergePairs(pairs: PairTable): void {
    pairs.forEach((item, words, start, end) => {
      if (start === end) return;
      let entry = this.#entries.get(item);
      if (entry === undefined) {
        entry = { set: new ViewerSet(), missed: this.cut };
        this.#entries.set(item, entry);
      }
      entry.set.addWords(words, start, end);
    });
    this.#dropSmallest();
  }

  /** The other is unchanged. */
  merge(other: ViewerSketch): void {
    for (const [item, entry] of this.#entries) {
      if (!other.#entries.has(item)) entry.missed += other.cut;
    }
    for (const [item, { set, missed }] of other.#entries) {
      const own = this.#entries.get(item);
      if (own === undefined) {
        this.#entries.set(item, { set: set.clone(), missed: missed + this.cut });
      } else {
        own.set.merge(set);
        own.missed += missed;
      }
    }
    this.cut += other.cut;
    this.#dropSmallest();
  }

  clone(): ViewerSketch {
    const entries = new Map<string, ViewerEntry>();
    for (const [item, { set, missed }] of this.#entries) {
      entries.set(item, { set: set.clone(), missed });
    }
    return new ViewerSketch(this.bytesMax, this.cut, entries);
  }

  /** Keeps the items with most actors, as many as there is room for. */
  #dropSmallest(): void {
    let bytes = 0;
    for (const [item, { set }] of this.#entries) bytes += bytesOf(item, set);
    if (bytes <= this.bytesMax) return;
    const rows = [...this.#entries].map(([item, entry]) => ({
      item,
      entry,
      upper: upperOf(entry),
    }));
    rows.sort((a, b) => b.upper - a.upper || compareUtf8(a.item, b.item));
    bytes = 0;
    const kept = rows.findIndex(({ item, entry }) => {
      bytes += bytesOf(item, entry.set);
      return bytes > this.bytesMax;
    });
    // In that order the first one that is dropped has most actors of all that are.
    this.cut = Math.max(this.cut, rows[kept]!.upper);
    this.#entries = new Map(rows.slice(0, kept).map(({ item, entry }) => [item, entry]));
  }
}

/** Actors that an item has at most, as far as its entry knows. */
export function upperOf({ set, missed }: ViewerEntry): number {
  return upperOfSet(set) + missed;
}

export function upperOfSet(set: ViewerSet): number {
  if (set.isExact) return set.hashCount;
  return Math.ceil(set.estimate() * (1 + UPPER_ERRORS * ViewerSet.standardError));
}

function bytesOf(item: string, set: ViewerSet): number {
  return utf8Length(item) + set.encodedBytes + ENTRY_BYTES;
}
