/*
 * What      Everything Tally keeps about some events: how many, how often each item occurred, which
 *           were most frequent, how many different actors there were, of all items and of each. One
 *           type, one merge.
 * Paper     The parts are those of item-sketch.ts, hyperloglog.ts and viewer-sketch.ts; mergeable
 *           summaries: Agarwal et al., 2012. Exact tables are kept until they pass a limit, then
 *           they become sketches.
 * Params    SummaryShape: width and depth of the cells, candidates, bytes for the items' actors,
 *           and the limits up to which items (their number, and their bytes), actors and pairs of
 *           the two are kept exactly.
 * Guarantee While `itemsExact`: counts are exact. Else lower <= true <= upper for every item, and
 *           upper <= true + epsilon * total with probability 1 - delta. While `actorsExact`: the
 *           number of different actor hashes; else HyperLogLog's 0.81 % standard error. An item's
 *           actors: exact while pairs are; else as viewer-sketch.ts promises.
 *           `total` and `withoutActor` are exact up to 2^53 - 1; past it `saturated` is true.
 * Memory    A few hundred bytes while small; at most 8 * width * depth + 16 KiB + candidates + the
 *           viewers.
 * Cost      add: one map update, or O(depth). merge: the size of both.
 * Merge     Commutative, associative, with the empty summary as identity; byte for byte (of the
 *           canonical encoding) for total, exact tables, registers and the exact flags, as bounds
 *           for cells, candidates, viewers, cut-offs. The argument is unchanged.
 * Not       Not an order of events and no removal; it does not know which bucket it is of.
 */
import { assert } from '../lib/assert.ts';
import { ActorSet } from './actor-set.ts';
import type { Bounds, ListedItems } from './candidate.ts';
import type { CountMinShape } from './count-min.ts';
import type { KeyedHash } from './hash.ts';
import { HyperLogLog } from './hyperloglog.ts';
import type { ItemKey } from './item-key.ts';
import { ItemSketch } from './item-sketch.ts';
import { ItemTable } from './item-table.ts';
import { PairTable } from './pair-table.ts';
import { ViewerSketch } from './viewer-sketch.ts';

export interface SummaryShape extends CountMinShape {
  /** How many of the heaviest items are listed beside the cells. */
  readonly candidates: number;
  /** Above so many different items, or so many bytes of them, counts become estimates. */
  readonly exactItems: number;
  readonly exactItemBytes: number;
  /** Above so many different actors their number becomes an estimate. */
  readonly exactActors: number;
  /** The same for pairs of an item and one of its actors. */
  readonly exactPairs: number;
  /** Above it, the bytes for the actors of the items that have most. */
  readonly viewerBytes: number;
}

/** A summary that is not added to any more: 5 x 16,384 cells, epsilon = e / 16,384 = 0.017 %. */
export const CLOSED_SHAPE: SummaryShape = {
  width: 16_384,
  depth: 5,
  candidates: 2_000,
  exactItems: 16_384,
  exactItemBytes: 8 * 2 ** 20,
  exactActors: 1_536,
  exactPairs: 8_192,
  viewerBytes: 128 * 2 ** 10,
};

/** A part of a bucket that is still open: exact, so that the closed summary can be tight. */
export const PART_SHAPE: SummaryShape = {
  ...CLOSED_SHAPE,
  exactItems: 262_144,
  exactPairs: 262_144,
};

/** What summaries that are to be merged have in common. */
export interface SummaryContext {
  readonly hash: KeyedHash;
  readonly shape: SummaryShape;
}

/** Rough cost in memory of a summary without anything in it. */
const FIXED_BYTES = 400;
const NEVER_OCCURRED: Bounds = { upper: 0, lower: 0 };

/** The state of a summary, as the codec sees it. */
export interface SummaryState {
  total: number;
  withoutActor: number;
  saturated: boolean;
  incomplete: boolean;
  items: ItemTable | ItemSketch;
  actors: ActorSet | HyperLogLog;
  /** Null where they have not been read. */
  viewers: PairTable | ViewerSketch | null;
}

/** The halves of an actor's keyed hash. */
export interface ActorHash {
  readonly lo: number;
  readonly hi: number;
}

export class Summary {
  readonly context: SummaryContext;
  #total = 0;
  #withoutActor = 0;
  #saturated = false;
  /** True when something that belongs in here was damaged and could not be counted. */
  incomplete = false;
  #table: ItemTable | null = new ItemTable();
  #sketch: ItemSketch | null = null;
  #actors: ActorSet | HyperLogLog = new ActorSet();
  /** Pairs while items and pairs are few enough; null in a summary read without them. */
  #viewers: PairTable | ViewerSketch | null = new PairTable();

  constructor(context: SummaryContext) {
    this.context = context;
  }

  /** Takes over a state that a codec has read; limits of the shape apply from the next change. */
  static fromState(context: SummaryContext, state: SummaryState): Summary {
    const summary = new Summary(context);
    summary.#total = state.total;
    summary.#withoutActor = state.withoutActor;
    summary.#saturated = state.saturated;
    summary.incomplete = state.incomplete;
    summary.#actors = state.actors;
    summary.#viewers = state.viewers;
    if (state.items instanceof ItemSketch) summary.#becomeSketch(state.items);
    else summary.#table = state.items;
    return summary;
  }

  state(): SummaryState {
    return {
      total: this.#total,
      withoutActor: this.#withoutActor,
      saturated: this.saturated,
      incomplete: this.incomplete,
      items: this.#table ?? this.#itemSketch,
      actors: this.#actors,
      viewers: this.#viewers,
    };
  }

  /** Sum of the counts added. */
  get total(): number {
    return this.#total;
  }

  /** Sum of the counts added without an actor. */
  get withoutActor(): number {
    return this.#withoutActor;
  }

  get saturated(): boolean {
    return this.#saturated || (this.#sketch?.saturated ?? false);
  }

  get itemsExact(): boolean {
    return this.#table !== null;
  }

  get actorsExact(): boolean {
    return this.#actors instanceof ActorSet;
  }

  get actors(): ActorSet | HyperLogLog {
    return this.#actors;
  }

  /** False when it was read without its viewers: it can neither be asked for them nor merged. */
  get viewersLoaded(): boolean {
    return this.#viewers !== null;
  }

  /** Which actors each item had, of all items or of those with most. */
  get viewers(): PairTable | ViewerSketch {
    assert(this.#viewers !== null, 'the viewers were read');
    return this.#viewers;
  }

  /** Pairs of an item and one of its actors, while they are exact. */
  get pairCount(): number {
    return this.#viewers instanceof PairTable ? this.#viewers.size : 0;
  }

  /** Different items while exact; listed ones otherwise. */
  get itemCount(): number {
    return this.listed.size;
  }

  /** Bytes of the items' UTF-8 forms while exact. */
  get itemBytes(): number {
    return this.#table?.itemBytes ?? 0;
  }

  /** No item beyond those listed (all of them, while exact) has a larger count. */
  get cut(): number {
    return this.#sketch?.cut ?? 0;
  }

  /** Shape of the cells that counts are estimated with; null while they are exact. */
  get cellShape(): CountMinShape | null {
    return this.#sketch?.cells ?? null;
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    const cellBytes = this.#sketch?.cells.byteLength ?? 0;
    const actorBytes = this.#actors.byteLength + (this.#viewers?.byteLength ?? 0);
    return FIXED_BYTES + this.listed.byteLength + cellBytes + actorBytes;
  }

  /** Counts an item; `count` is a positive safe integer. */
  add(item: string, count: number, actor: ActorHash | null): void {
    this.#grow(count);
    if (this.#table === null) {
      this.#itemSketch.add(item, count, this.context.hash);
    } else {
      this.#table.add(item, count);
      this.#sketchAboveLimit(this.#table);
    }
    if (actor === null) {
      this.#withoutActor = this.#bounded(this.#withoutActor + count);
      return;
    }
    this.#addActor(actor.lo, actor.hi);
    const { viewers } = this;
    if (viewers instanceof PairTable) {
      viewers.add(item, actor.lo, actor.hi);
      this.#sketchPairsAboveLimit(viewers);
    } else {
      const pair = new PairTable();
      pair.add(item, actor.lo, actor.hi);
      viewers.mergePairs(pair);
    }
  }

  /** lower <= true count <= upper. */
  boundsOf(key: ItemKey): Bounds {
    if (this.#table === null) return this.#itemSketch.boundsOf(key);
    return this.#table.boundsOf(key) ?? NEVER_OCCURRED;
  }

  /** The items that have bounds of their own: all of them, while exact. */
  get listed(): ListedItems {
    return this.#table ?? this.#itemSketch.top;
  }

  /** Adds all that the other has counted; the other is unchanged. */
  merge(other: Summary): void {
    assert(other !== this, 'a summary is not merged into itself');
    assert(other.context.hash.seedId === this.context.hash.seedId, 'hash keys are equal');
    this.#grow(other.#total);
    this.#withoutActor = this.#bounded(this.#withoutActor + other.#withoutActor);
    this.#saturated ||= other.#saturated;
    this.incomplete ||= other.incomplete;
    this.#mergeItems(other);
    this.#mergeActors(other.#actors);
    this.#mergeViewers(other.viewers);
  }

  /** From now on any item may have had all actors: what is known of them could not be read. */
  loseViewers(): void {
    const actorsMax = Math.max(this.#total - this.#withoutActor, 0);
    this.#viewers = new ViewerSketch(this.context.shape.viewerBytes, actorsMax);
  }

  clone(): Summary {
    const copy = new Summary(this.context);
    copy.#total = this.#total;
    copy.#withoutActor = this.#withoutActor;
    copy.#saturated = this.#saturated;
    copy.incomplete = this.incomplete;
    copy.#table = this.#table?.clone() ?? null;
    copy.#sketch = this.#sketch?.clone() ?? null;
    copy.#actors = this.#actors.clone();
    copy.#viewers = this.#viewers?.clone() ?? null;
    return copy;
  }

  get #itemSketch(): ItemSketch {
    assert(this.#sketch !== null, 'a summary has a table or a sketch');
    return this.#sketch;
  }

  #mergeItems(other: Summary): void {
    const { hash } = this.context;
    if (this.#table !== null && other.#table !== null) {
      this.#mergeTables(this.#table, other.#table);
    } else if (this.#table !== null) {
      const sketch = other.#itemSketch.clone();
      sketch.addTable(this.#table, this.#total - other.#total, hash);
      this.#becomeSketch(sketch);
    } else if (other.#table !== null) {
      this.#itemSketch.addTable(other.#table, other.#total, hash);
    } else {
      this.#itemSketch.merge(other.#itemSketch, hash);
    }
  }

  #mergeActors(other: ActorSet | HyperLogLog): void {
    if (other instanceof ActorSet) {
      other.forEach((lo, hi) => this.#addActor(lo, hi));
      return;
    }
    if (this.#actors instanceof ActorSet) this.#actors = registersOf(this.#actors);
    this.#actors.merge(other);
  }

  #addActor(lo: number, hi: number): void {
    if (this.#actors instanceof HyperLogLog) {
      this.#actors.addHash(lo, hi);
      return;
    }
    this.#actors.add(lo, hi);
    if (this.#actors.size > this.context.shape.exactActors) {
      this.#actors = registersOf(this.#actors);
    }
  }

  #mergeViewers(other: PairTable | ViewerSketch): void {
    const { viewers } = this;
    if (viewers instanceof PairTable) {
      if (other instanceof PairTable) {
        viewers.merge(other);
        this.#sketchPairsAboveLimit(viewers);
        return;
      }
      const sketch = new ViewerSketch(this.context.shape.viewerBytes);
      sketch.merge(other);
      sketch.mergePairs(viewers);
      this.#viewers = sketch;
    } else if (other instanceof PairTable) {
      viewers.mergePairs(other);
    } else {
      viewers.merge(other);
    }
  }

  #sketchPairsAboveLimit(pairs: PairTable): void {
    if (pairs.size > this.context.shape.exactPairs) this.#sketchPairs(pairs);
  }

  #sketchPairs(pairs: PairTable): void {
    this.#viewers = ViewerSketch.ofPairs(pairs, this.context.shape.viewerBytes);
  }

  #mergeTables(own: ItemTable, other: ItemTable): void {
    if (own.size > 0) {
      other.forEach((item, count) => own.add(item, count));
      this.#sketchAboveLimit(own);
    } else if (this.#fits(other)) {
      this.#table = other.clone();
    } else {
      // Straight into the sketch: a copy of a large table would only be thrown away.
      this.#sketchTable(other);
    }
  }

  #fits(table: ItemTable): boolean {
    const { exactItems, exactItemBytes } = this.context.shape;
    return table.size <= exactItems && table.itemBytes <= exactItemBytes;
  }

  #sketchAboveLimit(table: ItemTable): void {
    if (!this.#fits(table)) this.#sketchTable(table);
  }

  #sketchTable(table: ItemTable): void {
    const { shape, hash } = this.context;
    const sketch = ItemSketch.empty(shape, shape.candidates);
    sketch.addTable(table, this.#total, hash);
    this.#becomeSketch(sketch);
  }

  #becomeSketch(sketch: ItemSketch): void {
    this.#sketch = sketch;
    this.#table = null;
    // Pairs are stored beside the rows of a table: without one, they are not kept.
    if (this.#viewers instanceof PairTable) this.#sketchPairs(this.#viewers);
  }

  #grow(count: number): void {
    this.#total = this.#bounded(this.#total + count);
  }

  #bounded(value: number): number {
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    this.#saturated = true;
    return Number.MAX_SAFE_INTEGER;
  }
}

/** The registers that the set's hashes give: nothing is lost by having been exact first. */
function registersOf(actors: ActorSet): HyperLogLog {
  const registers = new HyperLogLog();
  actors.forEach((lo, hi) => registers.addHash(lo, hi));
  return registers;
}
