/*
 * What      An item that is looked up in many summaries: its text, bytes and hash, each made once.
 * Paper     None.
 * Params    The item and the hash that the summaries were made with.
 * Guarantee None.
 * Memory    That of the item, twice at most.
 * Cost      One hash; the bytes are made when they are first asked for.
 * Merge     None.
 * Not       Nothing that is stored.
 */
import type { KeyedHash } from './hash.ts';

export class ItemKey {
  readonly item: string;
  /** The halves of the keyed hash. */
  readonly lo: number;
  readonly hi: number;
  #utf8: Uint8Array | null = null;

  constructor(item: string, hash: KeyedHash) {
    hash.hashString(item);
    this.item = item;
    this.lo = hash.lo;
    this.hi = hash.hi;
  }

  get utf8(): Uint8Array {
    this.#utf8 ??= Buffer.from(this.item, 'utf8');
    return this.#utf8;
  }
}
