/*
 * What      Which items had most different actors, and about how many? Small sets for the items
 *           with most, within so many bytes, and a cut-off for the others.
 * Paper     A distinct count for each heavy item: Venkataraman, Song, Gibbons, Blum, 2005, "New
 *           streaming algorithms for fast detection of superspreaders", with sets as in
 *           viewer-set.ts. The cut-off is that of item-sketch.ts: mergeable summaries, Agarwal et
 *           al., 2012.
 * Params    bytesMax: bytes that this takes when stored, at most.
 * Guarantee An item's actors are in its set, but for at most `missed` of them. An item that is not
 *           listed has at most `cut`. Both hold always while sets of hashes only were dropped. A
 *           dropped set of registers counts for three standard errors more than its estimate, so
 *           that each one breaks the cut-off with a probability of about 0.1 %.
 * Memory    Some times bytesMax.
 * Cost      add O(1), now and then a sort. merge: O(items of both + registers of those in both),
 *           and a sort if it does not fit.
 * Merge     Sets of equal items unite. An item that one side does not list may have had its cut-off
 *           there, and no more actors than events: so many more are missed. cut = max(cut + cut,
 *           largest upper bound dropped). Regrouping changes lists, missed and cut, never whether
 *           the bounds hold.
 * Not       No removal; it cannot count an item that was not listed from the first on.
 */
import type { Counts } from '../lib/counts.ts';
import { nthLargest } from '../lib/nth-largest.ts';
import { compareUtf8, utf8Length } from '../lib/utf8.ts';
import type { KeyedHash } from './hash.ts';
import { ItemKey } from './item-key.ts';
import type { PackedViewers } from './packed-viewers.ts';
import type { PairTable } from './pair-table.ts';
import {
  BYTES_PER_HASH,
  setBytes,
  upperOfEstimate,
  VIEWERS_FRAME_BYTES,
  ViewerSet,
} from './viewer-set.ts';
import type { ViewerUnion } from './viewer-union.ts';

/** Of an entry beside its item and set, at most: the item's length, `missed`, number of hashes. */
const ENTRY_BYTES = 4 + 8 + 1;
const MAP_ENTRY_BYTES = 160;
/** What the entries shrink to when events are added one by one, so that it happens seldom. */
const SHRUNK_SHARE = 0.75;

export interface ViewerEntry {
  readonly set: ViewerSet;
  /** The item may have had so many more actors, in what did not list it. */
  missed: number;
}

/** At most so many events of an item were counted. */
export type EventsOf = (key: ItemKey) => number;

/** An entry, or what is to become one: a row of pairs. */
interface Ranked {
  readonly item: string;
  readonly upper: number;
  readonly bytes: number;
  readonly make: () => ViewerEntry;
}

export class ViewerSketch {
  readonly bytesMax: number;
  /** No item that is not listed has more actors. */
  cut: number;
  /** The entries, as long as they are as they were read. */
  #packed: PackedViewers | null = null;
  #entries = new Map<string, ViewerEntry>();
  /** Those that the entries take when stored. */
  #bytes = 0;

  constructor(bytesMax: number, cut = 0) {
    this.bytesMax = bytesMax;
    this.cut = cut;
  }

  /** Takes stored entries over. */
  static of(bytesMax: number, cut: number, entries: PackedViewers): ViewerSketch {
    const sketch = new ViewerSketch(bytesMax, cut);
    sketch.#packed = entries;
    return sketch;
  }

  static ofPairs(pairs: PairTable, bytesMax: number, hash: KeyedHash): ViewerSketch {
    const sketch = new ViewerSketch(bytesMax);
    sketch.mergePairs(pairs, () => 0, hash);
    return sketch;
  }

  /** Number of listed items. */
  get size(): number {
    return this.#packed?.size ?? this.#entries.size;
  }

  get entries(): ReadonlyMap<string, ViewerEntry> {
    return this.#unpacked();
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    if (this.#packed !== null) return this.#packed.byteLength;
    let bytes = 0;
    for (const { set } of this.#entries.values()) bytes += MAP_ENTRY_BYTES + set.byteLength;
    return bytes;
  }

  /** What the listed items may have at most, in no particular order. */
  uppers(): Counts {
    return this.#packed?.uppers ?? Float64Array.from(this.#entries.values(), upperOf);
  }

  /** Visits each listed item that may have at least `least` actors. */
  forEachUpper(visit: (item: string, upper: number) => void, least = 0): void {
    const packed = this.#packed;
    if (packed === null) {
      for (const [item, entry] of this.#entries) {
        const upper = upperOf(entry);
        if (upper >= least) visit(item, upper);
      }
      return;
    }
    const { uppers } = packed;
    for (let index = 0; index < packed.size; index += 1) {
      if (uppers[index]! >= least) visit(packed.item(index), uppers[index]!);
    }
  }

  /** Adds what is known of an item's actors to a union; it had at most so many events here. */
  gather(key: ItemKey, events: number, union: ViewerUnion): void {
    const packed = this.#packed;
    if (packed === null) {
      const entry = this.#entries.get(key.item);
      if (entry !== undefined) union.addSet(entry.set);
      union.addMissed(Math.min(entry?.missed ?? this.cut, events));
      return;
    }
    const index = packed.indexOf(key.utf8);
    if (index >= 0) packed.gather(index, union);
    union.addMissed(Math.min(index >= 0 ? packed.missed(index) : this.cut, events));
  }

  /** Adds an actor of an item, which had so many events at most before. */
  add(item: string, lo: number, hi: number, eventsBefore: () => number): void {
    const entries = this.#unpacked();
    let entry = entries.get(item);
    if (entry === undefined) {
      entry = { set: new ViewerSet(), missed: this.#missedOf(eventsBefore) };
      entries.set(item, entry);
      this.#bytes += utf8Length(item) + ENTRY_BYTES;
    }
    this.#bytes -= entry.set.encodedBytes;
    entry.set.add(lo, hi);
    this.#bytes += entry.set.encodedBytes;
    if (this.#bytes > this.#room) this.#keep(this.#ranked(), SHRUNK_SHARE * this.#room);
  }

  /**
   * Adds pairs, which list all their items: nothing of them is missed. `eventsHere` is about the
   * events that the sketch is of.
   */
  mergePairs(pairs: PairTable, eventsHere: EventsOf, hash: KeyedHash): void {
    const { starts, words } = pairs.groups;
    const uppers = pairs.uppers();
    for (const [item, { set }] of this.#unpacked()) {
      const row = pairs.rowOf(new ItemKey(item, hash));
      if (row < 0) continue;
      set.addWords(words, starts[row]!, starts[row + 1]!);
      uppers[row] = 0;
    }
    this.#countBytes();
    // More than these do not fit, even if all items were empty. Of equal ones beyond none stands
    // out; rows without actors, wherever they lie, do not change which these are.
    const countMax = Math.ceil(this.#room / (ENTRY_BYTES + BYTES_PER_HASH)) + 1;
    const largestOut = uppers.length > countMax ? nthLargest(uppers, countMax + 1) : 0;
    const newcomers: Ranked[] = [];
    pairs.forEachUpper((item, upper, row) => {
      if (uppers[row] === 0) return;
      const missed = this.#missedOf(() => eventsHere(new ItemKey(item, hash)));
      newcomers.push({
        item,
        upper: upper + missed,
        bytes: utf8Length(item) + ENTRY_BYTES + setBytes(upper),
        make: () => {
          const set = new ViewerSet();
          set.addWords(words, starts[row]!, starts[row + 1]!);
          return { set, missed };
        },
      });
    }, largestOut + 1);
    const dropped = largestOut > 0 ? largestOut + this.cut : 0;
    this.#keep([...this.#ranked(), ...newcomers], this.#room);
    this.cut = Math.max(this.cut, dropped);
  }

  /** The other is unchanged. Each function is about the events that one of the sketches is of. */
  merge(other: ViewerSketch, eventsHere: EventsOf, eventsThere: EventsOf, hash: KeyedHash): void {
    const entries = this.#unpacked();
    const others = other.#unpacked();
    for (const [item, entry] of entries) {
      if (others.has(item)) continue;
      entry.missed += other.#missedOf(() => eventsThere(new ItemKey(item, hash)));
    }
    for (const [item, { set, missed }] of others) {
      const own = entries.get(item);
      if (own === undefined) {
        const missedHere = this.#missedOf(() => eventsHere(new ItemKey(item, hash)));
        entries.set(item, { set: set.clone(), missed: missed + missedHere });
      } else {
        own.set.merge(set);
        own.missed += missed;
      }
    }
    this.cut = Math.min(this.cut + other.cut, Number.MAX_SAFE_INTEGER);
    this.#countBytes();
    if (this.#bytes > this.#room) this.#keep(this.#ranked(), this.#room);
  }

  clone(bytesMax = this.bytesMax): ViewerSketch {
    const copy = new ViewerSketch(bytesMax, this.cut);
    copy.#packed = this.#packed;
    for (const [item, { set, missed }] of this.#entries) {
      copy.#entries.set(item, { set: set.clone(), missed });
    }
    copy.#bytes = this.#bytes;
    return copy;
  }

  get #room(): number {
    return Math.max(0, this.bytesMax - VIEWERS_FRAME_BYTES);
  }

  /** Of an item that is not listed. */
  #missedOf(events: () => number): number {
    return this.cut === 0 ? 0 : Math.min(this.cut, events());
  }

  #unpacked(): Map<string, ViewerEntry> {
    const packed = this.#packed;
    if (packed !== null) {
      this.#packed = null;
      for (let index = 0; index < packed.size; index += 1) {
        const entry = { set: packed.set(index), missed: packed.missed(index) };
        this.#entries.set(packed.item(index), entry);
      }
      this.#countBytes();
    }
    return this.#entries;
  }

  #countBytes(): void {
    this.#bytes = 0;
    for (const [item, { set }] of this.#entries) this.#bytes += bytesOf(item, set);
  }

  #ranked(): Ranked[] {
    return [...this.#entries].map(([item, entry]) => ({
      item,
      upper: upperOf(entry),
      bytes: bytesOf(item, entry.set),
      make: () => entry,
    }));
  }

  /** Keeps the items with most actors, as many as there is room for: all, if all fit. */
  #keep(ranked: Ranked[], room: number): void {
    const needed = ranked.reduce((sum, { bytes }) => sum + bytes, 0);
    if (needed > room) ranked.sort((a, b) => b.upper - a.upper || compareUtf8(a.item, b.item));
    this.#entries = new Map();
    this.#bytes = 0;
    for (const { item, upper, bytes, make } of ranked) {
      if (this.#bytes + bytes > room) {
        // In that order it has most actors of all that are dropped.
        this.cut = Math.max(this.cut, upper);
        return;
      }
      this.#entries.set(item, make());
      this.#bytes += bytes;
    }
  }
}

/** Actors that an item has at most, as far as its entry knows. */
function upperOf({ set, missed }: ViewerEntry): number {
  return (set.isExact ? set.hashCount : upperOfEstimate(set.estimate())) + missed;
}

function bytesOf(item: string, set: ViewerSet): number {
  return utf8Length(item) + ENTRY_BYTES + set.encodedBytes;
}
