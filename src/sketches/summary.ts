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
import { ItemKey } from './item-key.ts';
import { ItemSketch } from './item-sketch.ts';
import { ItemTable } from './item-table.ts';
import { pairBytes, PairTable } from './pair-table.ts';
import { ViewerSketch } from './viewer-sketch.ts';

export interface SummaryShape extends CountMinShape {
  /** How many of the heaviest items are listed beside the cells. */
  readonly candidates: number;
  /** Above so many different items, or so many bytes of them, counts become estimates. */
  readonly exactItems: number;
  readonly exactItemBytes: number;
  /** Above so many different actors their number becomes an estimate. */
  readonly exactActors: number;
  /** Above so many pairs of an item and one of its actors, not all of them are kept. */
  readonly exactPairs: number;
  /** Bytes that pairs, or what is left of them, take when stored, at most. */
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
  viewerBytes: 4 * 2 ** 20,
};

/** What summaries that are to be merged have in common. */
export interface SummaryContext {
  readonly hash: KeyedHash;
  readonly shape: SummaryShape;
}

/** Rough cost in memory of a summary without anything in it. */
const FIXED_BYTES = 400;
/** The same of actors that will be found out when somebody asks. */
const ACTORS_BYTES_MAX = 2 ** 14;
const NEVER_OCCURRED: Bounds = { upper: 0, lower: 0 };

/** The state of a summary, as the codec sees it. */
export interface SummaryState {
  total: number;
  withoutActor: number;
  saturated: boolean;
  incomplete: boolean;
  items: ItemTable | ItemSketch;
  /** Null where the pairs give them. */
  actors: ActorSet | HyperLogLog | null;
  /** Pairs are of the rows of `items`, which then is a table. Null where they were not read. */
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
  #table: ItemTable | null;
  #sketch: ItemSketch | null = null;
  /** Null until somebody asks, as long as the pairs give them. */
  #actors: ActorSet | HyperLogLog | null = null;
  /** Pairs while they and the items are few enough; null in a summary read without them. */
  #viewers: PairTable | ViewerSketch | null;

  constructor(context: SummaryContext) {
    this.context = context;
    this.#table = new ItemTable();
    this.#viewers = new PairTable(this.#table);
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
    summary.#table = state.items instanceof ItemTable ? state.items : null;
    summary.#sketch = state.items instanceof ItemSketch ? state.items : null;
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
    return this.actors instanceof ActorSet;
  }

  get actors(): ActorSet | HyperLogLog {
    if (this.#actors === null) {
      assert(this.#viewers instanceof PairTable, 'pairs give the actors, or they are kept');
      this.#actors = actorsOf(this.#viewers, this.context.shape.exactActors);
    }
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

  /** Whether all pairs of an item and one of its actors are known. */
  get pairsExact(): boolean {
    return this.#viewers instanceof PairTable;
  }

  /** How many there are, while they are exact. */
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
    const actorBytes = this.#actors?.byteLength ?? Math.min(16 * this.pairCount, ACTORS_BYTES_MAX);
    const viewerBytes = this.#viewers?.byteLength ?? 0;
    return FIXED_BYTES + this.listed.byteLength + cellBytes + actorBytes + viewerBytes;
  }

  /** Counts an item; `count` is a positive safe integer. */
  add(item: string, count: number, actor: ActorHash | null): void {
    const { viewers } = this;
    if (actor === null) {
      this.#withoutActor = this.#bounded(this.#withoutActor + count);
    } else {
      if (this.#actors !== null) this.#addActor(this.#actors, actor.lo, actor.hi);
      if (viewers instanceof ViewerSketch) {
        const eventsBefore = () => this.boundsOf(new ItemKey(item, this.context.hash)).upper;
        viewers.add(item, actor.lo, actor.hi, eventsBefore);
      }
    }
    this.#grow(count);
    if (this.#table === null) {
      this.#itemSketch.add(item, count, this.context.hash);
      return;
    }
    const row = this.#table.add(item, count);
    if (actor !== null && viewers instanceof PairTable) viewers.add(row, actor.lo, actor.hi);
    this.#sketchAboveLimits();
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
    if (this.viewers instanceof PairTable && other.viewers instanceof PairTable) {
      this.#actors = null;
    } else {
      this.#mergeActors(other.actors);
      this.#viewers = this.#mergedViewers(other);
    }
    this.#grow(other.#total);
    this.#withoutActor = this.#bounded(this.#withoutActor + other.#withoutActor);
    this.#saturated ||= other.#saturated;
    this.incomplete ||= other.incomplete;
    this.#mergeItems(other);
  }

  /** From now on any item may have had all actors: what is known of them could not be read. */
  loseViewers(): void {
    this.#actors = this.actors;
    const cut = eventsWithActorMax(this.#total, this.#withoutActor, this.saturated);
    this.#viewers = new ViewerSketch(this.context.shape.viewerBytes, cut);
  }

  clone(): Summary {
    const copy = new Summary(this.context);
    copy.#total = this.#total;
    copy.#withoutActor = this.#withoutActor;
    copy.#saturated = this.#saturated;
    copy.incomplete = this.incomplete;
    copy.#table = this.#table?.clone() ?? null;
    copy.#sketch = this.#sketch?.clone() ?? null;
    copy.#actors = this.#actors?.clone() ?? null;
    if (this.#viewers instanceof PairTable && copy.#table !== null) {
      copy.#viewers = this.#viewers.clone(copy.#table);
    } else if (!(this.#viewers instanceof PairTable)) {
      copy.#viewers = this.#viewers?.clone() ?? null;
    }
    return copy;
  }

  get #itemSketch(): ItemSketch {
    assert(this.#sketch !== null, 'a summary has a table or a sketch');
    return this.#sketch;
  }

  #mergeItems(other: Summary): void {
    const { hash } = this.context;
    if (this.#table !== null && other.#table !== null) {
      this.#mergeTables(this.#table, other.#table, other.viewers);
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
    const { actors } = this;
    if (other instanceof ActorSet) {
      other.forEach((lo, hi) => this.#addActor(this.actors, lo, hi));
      return;
    }
    this.#actors = actors instanceof ActorSet ? registersOf(actors) : actors;
    this.#actors.merge(other);
  }

  #addActor(actors: ActorSet | HyperLogLog, lo: number, hi: number): void {
    if (actors instanceof HyperLogLog) {
      actors.addHash(lo, hi);
      return;
    }
    actors.add(lo, hi);
    if (actors.size > this.context.shape.exactActors) this.#actors = registersOf(actors);
  }

  /** Unless both have pairs, which are merged with the items that they are of. */
  #mergedViewers(other: Summary): ViewerSketch {
    const { viewers: own } = this;
    const { viewers: added } = other;
    const { hash, shape } = this.context;
    const eventsHere = (key: ItemKey): number => this.boundsOf(key).upper;
    const eventsThere = (key: ItemKey): number => other.boundsOf(key).upper;
    if (own instanceof ViewerSketch) {
      if (added instanceof PairTable) own.mergePairs(added, eventsHere, hash);
      else own.merge(added, eventsHere, eventsThere, hash);
      return own;
    }
    assert(added instanceof ViewerSketch, 'one of them has a sketch');
    const sketch = added.clone(shape.viewerBytes);
    sketch.mergePairs(own, eventsThere, hash);
    return sketch;
  }

  #mergeTables(own: ItemTable, other: ItemTable, added: PairTable | ViewerSketch): void {
    const { viewers } = this;
    if (own.size > 0) {
      const rows = own.merge(other);
      if (viewers instanceof PairTable && added instanceof PairTable) viewers.merge(added, rows);
    } else {
      // What is too large is not copied only to be thrown away.
      const table = this.#fits(other) ? other.clone() : other;
      this.#table = table;
      if (viewers instanceof PairTable && added instanceof PairTable) {
        this.#viewers = added.clone(table);
      }
    }
    this.#sketchAboveLimits();
  }

  #fits(table: ItemTable): boolean {
    const { exactItems, exactItemBytes } = this.context.shape;
    return table.size <= exactItems && table.itemBytes <= exactItemBytes;
  }

  #pairsFit(pairs: PairTable, table: ItemTable): boolean {
    const { exactPairs, viewerBytes } = this.context.shape;
    return pairs.size <= exactPairs && pairBytes(pairs.size, table.size) <= viewerBytes;
  }

  /** What both limits say does not depend on an order: neither items nor pairs become fewer. */
  #sketchAboveLimits(): void {
    const table = this.#table;
    if (table === null) return;
    const fits = this.#fits(table);
    const viewers = this.#viewers;
    if (viewers instanceof PairTable && !(fits && this.#pairsFit(viewers, table))) {
      this.#sketchPairs(viewers);
    }
    if (fits) return;
    const { shape, hash } = this.context;
    const sketch = ItemSketch.empty(shape, shape.candidates);
    sketch.addTable(table, this.#total, hash);
    this.#becomeSketch(sketch);
  }

  #sketchPairs(pairs: PairTable): void {
    const { shape, hash } = this.context;
    this.#actors = this.actors;
    this.#viewers = ViewerSketch.ofPairs(pairs, shape.viewerBytes, hash);
  }

  #becomeSketch(sketch: ItemSketch): void {
    this.#sketch = sketch;
    this.#table = null;
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

/** Events that named an actor, at most: the difference of two bounded numbers says nothing. */
export function eventsWithActorMax(
  total: number,
  withoutActor: number,
  saturated: boolean,
): number {
  return saturated ? Number.MAX_SAFE_INTEGER : Math.max(total - withoutActor, 0);
}

function actorsOf(pairs: PairTable, exactActors: number): ActorSet | HyperLogLog {
  const { words } = pairs.groups;
  const exact = new ActorSet();
  let at = 0;
  while (at < words.length && exact.size <= exactActors) {
    exact.add(words[at]!, words[at + 1]!);
    at += 2;
  }
  if (exact.size <= exactActors) return exact;
  const registers = registersOf(exact);
  for (; at < words.length; at += 2) registers.addHash(words[at]!, words[at + 1]!);
  return registers;
}

/** The registers that the set's hashes give: nothing is lost by having been exact first. */
function registersOf(actors: ActorSet): HyperLogLog {
  const registers = new HyperLogLog();
  actors.forEach((lo, hi) => registers.addHash(lo, hi));
  return registers;
}
