/*
 * What      A row of a list of items: the item with its bounds, the order of such rows, and what
 *           can be asked of those that hold them.
 * Paper     None.
 * Params    None.
 * Guarantee lower <= true count <= upper. The order is total: no two items share their bytes.
 * Memory    That of the item and two numbers.
 * Cost      compareCandidates: O(length of the items), and only for equal upper bounds.
 * Merge     None.
 * Not       It does not count anything.
 */
import type { Counts } from '../lib/counts.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { ItemKey } from './item-key.ts';

export interface Bounds {
  readonly upper: number;
  readonly lower: number;
}

/** `upper` is what the item is ranked by. */
export interface Candidate extends Bounds {
  readonly item: string;
}

/** The order of every list of items: upper descending, then the item's UTF-8 bytes. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return b.upper - a.upper || compareUtf8(a.item, b.item);
}

export type VisitRow = (item: string, upper: number, lower: number) => void;

/** Items with bounds, each once. */
export interface ListedItems {
  readonly size: number;
  /** About how much memory they take. */
  readonly byteLength: number;
  boundsOf(key: ItemKey): Bounds | undefined;
  /** All upper bounds, in no particular order; not to be changed. */
  uppers(): Counts;
  /** Calls back for each item whose upper bound is at least `least`, in no particular order. */
  forEach(visit: VisitRow, least?: number): void;
}
