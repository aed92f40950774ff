/*
 * What      How often did each item occur, and which were most frequent? Count-min cells with the
 *           heaviest items (candidates) beside them, each with bounds, and a cut-off for the rest.
 * Paper     Count-min and its heap as in count-min.ts and top-k.ts. Deviation: an item's known
 *           upper bound (listed, or the cut-off) limits the conservative update, which makes the
 *           result of adding an exact table independent of the table's order.
 * Params    width, depth (count-min.ts), candidates (top-k.ts).
 * Guarantee lower <= true <= upper for every item, listed or not, always. An item that is not
 *           listed has occurred at most `cut` times.
 * Memory    4 or 8 * width * depth bytes, and about 100 bytes and the item for each candidate.
 * Cost      add: O(depth + log candidates). merge: O(width * depth + candidates log candidates).
 * Merge     Cells add, in the smaller of both shapes; bounds of candidates add, as many are kept as
 *           the one that holds fewer; cut = max(cut + cut, the largest upper bound among the
 *           candidates dropped). Regrouping changes cells, candidates and cut, never whether
 *           the bounds hold.
 * Not       No removal. It knows no hash of an item: the caller hands in both.
 */
import type { Bounds } from './candidate.ts';
import { CountMin, type CountMinShape } from './count-min.ts';
import type { KeyedHash } from './hash.ts';
import { ItemKey } from './item-key.ts';
import type { ItemTable } from './item-table.ts';
import { TopK } from './top-k.ts';

export class ItemSketch {
  cells: CountMin;
  top: TopK;
  /** No item that is not listed in `top` has occurred more often. */
  cut: number;

  constructor(cells: CountMin, top: TopK, cut: number) {
    this.cells = cells;
    this.top = top;
    this.cut = cut;
  }

  static empty(shape: CountMinShape, candidates: number): ItemSketch {
    return new ItemSketch(new CountMin(shape), new TopK(candidates), 0);
  }

  get saturated(): boolean {
    return this.cells.saturated;
  }

  boundsOf(key: ItemKey): Bounds {
    return this.top.boundsOf(key) ?? { upper: this.#upperOfUnlisted(key.lo, key.hi), lower: 0 };
  }

  /** Counts one more occurrence (or `count` of them) of an item. */
  add(item: string, count: number, hash: KeyedHash): void {
    hash.hashString(item);
    const { lo, hi } = hash;
    const listed = this.top.get(item);
    const upper = (listed?.upper ?? this.#upperOfUnlisted(lo, hi)) + count;
    const lower = (listed?.lower ?? 0) + count;
    this.cells.grow(count);
    this.#raise(item, lo, hi, upper, lower);
  }

  /**
   * Adds a table of exact counts. Every item's bounds are taken before any cell is raised: an item
   * occurs in the table once, so what the others add to its cells is no news about it.
   */
  addTable(table: ItemTable, total: number, hash: KeyedHash): void {
    const hashes = table.hashes(hash);
    const uppersBefore = new Float64Array(table.size);
    const lowersBefore = new Float64Array(table.size);
    let index = 0;
    if (this.cells.total > 0) {
      table.forEach((item) => {
        const listed = this.top.get(item);
        if (listed === undefined) {
          uppersBefore[index] = this.#upperOfUnlisted(hashes[2 * index]!, hashes[2 * index + 1]!);
        } else {
          uppersBefore[index] = listed.upper;
          lowersBefore[index] = listed.lower;
        }
        index += 1;
      });
    }
    this.cells.grow(total);
    index = 0;
    table.forEach((item, count) => {
      const lo = hashes[2 * index]!;
      const hi = hashes[2 * index + 1]!;
      this.#raise(item, lo, hi, uppersBefore[index]! + count, lowersBefore[index]! + count);
      index += 1;
    });
  }

  /** Adds the other's counts to these; the other is unchanged. */
  merge(other: ItemSketch, hash: KeyedHash): void {
    const merged = new TopK(Math.min(this.top.capacity, other.top.capacity));
    this.top.forEach((item, upper, lower) => {
      const added = other.boundsOf(new ItemKey(item, hash));
      merged.offer(item, bounded(upper + added.upper), bounded(lower + added.lower));
    });
    other.top.forEach((item, upper, lower) => {
      if (this.top.get(item) !== undefined) return;
      hash.hashString(item);
      merged.offer(item, bounded(upper + this.#upperOfUnlisted(hash.lo, hash.hi)), lower);
    });
    this.cut = Math.max(bounded(this.cut + other.cut), merged.dropped);
    this.top = merged;
    this.#mergeCells(other.cells);
  }

  #mergeCells(other: CountMin): void {
    const shape = {
      width: Math.min(this.cells.width, other.width),
      depth: Math.min(this.cells.depth, other.depth),
    };
    if (!hasShape(this.cells, shape)) this.cells = this.cells.folded(shape);
    this.cells.merge(hasShape(other, shape) ? other : other.folded(shape));
  }

  clone(): ItemSketch {
    return new ItemSketch(this.cells.clone(), this.top.clone(), this.cut);
  }

  #raise(item: string, lo: number, hi: number, upper: number, lower: number): void {
    this.cells.raise(lo, hi, bounded(upper));
    this.top.offer(item, bounded(upper), bounded(lower));
    this.cut = Math.max(this.cut, this.top.dropped);
  }

  #upperOfUnlisted(lo: number, hi: number): number {
    return this.cut === 0 ? 0 : Math.min(this.cut, this.cells.estimate(lo, hi));
  }
}

function hasShape(cells: CountMin, { width, depth }: CountMinShape): boolean {
  return cells.width === width && cells.depth === depth;
}

function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}
