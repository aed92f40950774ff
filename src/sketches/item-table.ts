/*
 * What      How often did each item occur? Exactly.
 * Paper     None: the engine's hash map; as long as nothing is added, the rows as they were stored.
 * Params    None.
 * Guarantee Counts are exact up to 2^53 - 1 and stay there.
 * Memory    About 100 bytes an item and the item; packed, a few bytes more than stored.
 * Cost      add, get: O(1); get while packed: O(log items), or, if the rows are in no order, the
 *           first time O(items). forEach: O(items).
 * Merge     Counts of equal items add.
 * Not       No removal, no order, no limit of its own: the owner changes over to a sketch.
 *
 * An item keeps its row, a number from 0 on: what belongs to items is kept by row (pair-table.ts).
 */
import type { Counts } from '../lib/counts.ts';
import { utf8Length } from '../lib/utf8.ts';
import { ActorSet } from './actor-set.ts';
import type { Bounds, ListedItems, VisitRow } from './candidate.ts';
import type { KeyedHash } from './hash.ts';
import type { ItemKey } from './item-key.ts';
import type { PackedRows } from './packed-rows.ts';

/** Rough cost in memory of an entry of a map, beside the item's own bytes. */
const MAP_ENTRY_BYTES = 80;

export class ItemTable implements ListedItems {
  /** The rows, as long as they are as they were read. */
  #packed: PackedRows | null = null;
  #rows = new Map<string, number>();
  /** By row, like the counts. */
  #items: string[] = [];
  #counts: number[] = [];
  #itemBytes = 0;
  /** Two words an item in the order of forEach, kept for the next sketch that takes the table. */
  #hashes: Uint32Array | null = null;

  /** Takes stored rows over; null when an item has several. */
  static of(rows: PackedRows, hash: KeyedHash): ItemTable | null {
    const table = new ItemTable();
    table.#itemBytes = rows.itemBytes;
    table.#packed = rows;
    return rows.isAscending || areDistinct(table.hashes(hash)) ? table : null;
  }

  get size(): number {
    return this.#packed?.size ?? this.#items.length;
  }

  /** Bytes of the items' UTF-8 forms. */
  get itemBytes(): number {
    return this.#itemBytes;
  }

  /** About how much memory this takes. */
  get byteLength(): number {
    // Rows in no order are unpacked as soon as one of them is looked for.
    if (this.#packed?.isAscending === true) return this.#packed.byteLength;
    return this.size * MAP_ENTRY_BYTES + this.#itemBytes;
  }

  /** 0 for an item that did not occur. */
  countOf(item: string): number {
    if (this.#packed?.isAscending === true) {
      return this.#packed.boundsOf(Buffer.from(item, 'utf8'))?.upper ?? 0;
    }
    const row = this.#unpacked().get(item);
    return row === undefined ? 0 : this.#counts[row]!;
  }

  boundsOf(key: ItemKey): Bounds | undefined {
    const row = this.rowOf(key);
    if (row < 0) return undefined;
    const count = this.#packed?.uppers[row] ?? this.#counts[row]!;
    return { upper: count, lower: count };
  }

  /** -1 for an item that did not occur. */
  rowOf(key: ItemKey): number {
    if (this.#packed?.isAscending === true) return this.#packed.rowOf(key.utf8);
    return this.#unpacked().get(key.item) ?? -1;
  }

  item(row: number): string {
    return this.#packed?.item(row) ?? this.#items[row]!;
  }

  /** Returns the item's row. */
  add(item: string, count: number): number {
    const rows = this.#unpacked();
    const known = rows.get(item);
    if (known !== undefined) {
      this.#counts[known] = Math.min(this.#counts[known]! + count, Number.MAX_SAFE_INTEGER);
      return known;
    }
    this.#hashes = null;
    this.#itemBytes += utf8Length(item);
    const row = this.#items.length;
    rows.set(item, row);
    this.#items.push(item);
    this.#counts.push(count);
    return row;
  }

  /** Adds all rows of the other; returns for each of them which it is here. */
  merge(other: ItemTable): Uint32Array {
    const rows = new Uint32Array(other.size);
    let index = 0;
    other.forEach((item, count) => {
      rows[index++] = this.add(item, count);
    });
    return rows;
  }

  uppers(): Counts {
    return this.#packed?.uppers ?? Float64Array.from(this.#counts);
  }

  /** In the order of the rows. */
  forEach(visit: VisitRow, least = 0): void {
    if (this.#packed !== null) {
      this.#packed.forEach(visit, least);
      return;
    }
    for (const [row, item] of this.#items.entries()) {
      const count = this.#counts[row]!;
      if (count >= least) visit(item, count, count);
    }
  }

  /** The keyed hashes of all items, as pairs of words in the order of forEach. */
  hashes(hash: KeyedHash): Uint32Array {
    if (this.#hashes !== null) return this.#hashes;
    const hashes = new Uint32Array(2 * this.size);
    let place = 0;
    const push = (): void => {
      hashes[place] = hash.lo;
      hashes[place + 1] = hash.hi;
      place += 2;
    };
    const packed = this.#packed;
    if (packed === null) {
      for (const item of this.#items) {
        hash.hashString(item);
        push();
      }
    } else {
      for (let index = 0; index < packed.size; index += 1) {
        packed.hashItem(index, hash);
        push();
      }
    }
    this.#hashes = hashes;
    return hashes;
  }

  clone(): ItemTable {
    const copy = new ItemTable();
    copy.#packed = this.#packed;
    copy.#rows = new Map(this.#rows);
    copy.#items = this.#items.slice();
    copy.#counts = this.#counts.slice();
    copy.#itemBytes = this.#itemBytes;
    copy.#hashes = this.#hashes;
    return copy;
  }

  #unpacked(): Map<string, number> {
    const packed = this.#packed;
    if (packed !== null) {
      this.#packed = null;
      for (let row = 0; row < packed.size; row += 1) {
        const item = packed.item(row);
        this.#rows.set(item, row);
        this.#items.push(item);
        this.#counts.push(packed.uppers[row]!);
      }
    }
    return this.#rows;
  }
}

/** Different items share a hash with a probability of about their number's square / 2^65. */
function areDistinct(hashes: Uint32Array): boolean {
  const seen = new ActorSet(hashes.length / 2);
  for (let place = 0; place < hashes.length; place += 2) {
    if (!seen.add(hashes[place]!, hashes[place + 1]!)) return false;
  }
  return true;
}
