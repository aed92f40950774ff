/*
 * What      How often did each item occur? Exactly.
 * Paper     None: the engine's hash map; as long as nothing is added, the rows as they were stored.
 * Params    None.
 * Guarantee Counts are exact up to 2^53 - 1 and stay there.
 * Memory    About 100 bytes an item and the item; packed, a few bytes more than stored.
 * Cost      add, get: O(1); get while packed: O(log items), or, if the rows are in no order, the
 *           first time O(items). forEach: O(items).
 * Merge     Counts of equal items add: add every row of one table to the other.
 * Not       No removal, no order, no limit of its own: the owner changes over to a sketch.
 */
import type { Counts } from '../lib/counts.ts';
import { nextAtLeast } from '../lib/nth-largest.ts';
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
  #counts = new Map<string, number>();
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
    return this.#packed?.size ?? this.#counts.size;
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
    if (this.#packed?.isAscending !== true) return this.#unpacked().get(item) ?? 0;
    return this.#packed.boundsOf(Buffer.from(item, 'utf8'))?.upper ?? 0;
  }

  boundsOf(key: ItemKey): Bounds | undefined {
    if (this.#packed?.isAscending === true) return this.#packed.boundsOf(key.utf8);
    const count = this.#unpacked().get(key.item);
    return count === undefined ? undefined : { upper: count, lower: count };
  }

  add(item: string, count: number): void {
    const counts = this.#unpacked();
    this.#hashes = null;
    const before = counts.get(item);
    if (before === undefined) this.#itemBytes += utf8Length(item);
    counts.set(item, Math.min((before ?? 0) + count, Number.MAX_SAFE_INTEGER));
  }

  uppers(): Counts {
    if (this.#packed !== null) return this.#packed.uppers;
    const uppers = new Float64Array(this.#counts.size);
    let index = 0;
    for (const count of this.#counts.values()) uppers[index++] = count;
    return uppers;
  }

  forEach(visit: VisitRow, least = 0): void {
    const packed = this.#packed;
    if (packed === null) {
      for (const [item, count] of this.#counts) {
        if (count >= least) visit(item, count, count);
      }
      return;
    }
    const { size, uppers } = packed;
    let index = nextAtLeast(uppers, 0, least);
    while (index < size) {
      visit(packed.item(index), uppers[index]!, uppers[index]!);
      index = nextAtLeast(uppers, index + 1, least);
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
      for (const item of this.#counts.keys()) {
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
    copy.#counts = new Map(this.#counts);
    copy.#itemBytes = this.#itemBytes;
    copy.#hashes = this.#hashes;
    return copy;
  }

  #unpacked(): Map<string, number> {
    const packed = this.#packed;
    if (packed !== null) {
      this.#packed = null;
      for (let index = 0; index < packed.size; index += 1) {
        this.#counts.set(packed.item(index), packed.uppers[index]!);
      }
    }
    return this.#counts;
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
