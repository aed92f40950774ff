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
 * Merge     Cells add; bounds of candidates add; cut = max(cut + cut, the largest upper bound among
 *           the candidates dropped). Regrouping changes cells, candidates and cut, never the bounds'
 *           validity.
 * Not       No removal. It knows no hash of an item: the caller hands in both.
 */
import { CountMin, type CountMinShape } from './count-min.ts';
import type { KeyedHash } from './hash.ts';
import { TopK } from './top-k.ts';

export class ItemSketch {
  readonly cells: CountMin;
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

  /** `lo` and `hi` are the item's hash. */
  upperOf(item: string, lo: number, hi: number): number {
    return this.top.get(item)?.upper ?? this.#upperOfUnlisted(lo, hi);
  }

  lowerOf(item: string): number {
    return this.top.get(item)?.lower ?? 0;
  }

  /** Counts one more occurrence (or `count` of them) of an item. */
  add(item: string, count: number, hash: KeyedHash): void {
    hash.hashString(item);
    const upperBefore = this.upperOf(item, hash.lo, hash.hi);
    const lowerBefore = this.lowerOf(item);
    this.cells.grow(count);
    this.#raise(item, hash.lo, hash.hi, upperBefore + count, lowerBefore + count);
  }

  /**
   * Adds a table of exact counts. Every item's bounds are taken before any cell is raised: an item
   * occurs in the table once, so what the others add to its cells is no news about it.
   */
  addTable(table: ReadonlyMap<string, number>, total: number, hash: KeyedHash): void {
    const hashes = new Uint32Array(2 * table.size);
    const uppersBefore = new Float64Array(table.size);
    const lowersBefore = new Float64Array(table.size);
    let index = 0;
    for (const item of table.keys()) {
      hash.hashString(item);
      hashes[2 * index] = hash.lo;
      hashes[2 * index + 1] = hash.hi;
      uppersBefore[index] = this.upperOf(item, hash.lo, hash.hi);
      lowersBefore[index] = this.lowerOf(item);
      index += 1;
    }
    this.cells.grow(total);
    index = 0;
    for (const [item, count] of table) {
      const lo = hashes[2 * index]!;
      const hi = hashes[2 * index + 1]!;
      const upper = uppersBefore[index]! + count;
      this.#raise(item, lo, hi, upper, lowersBefore[index]! + count);
      index += 1;
    }
  }

  /** Adds the other's counts to these; the other is unchanged. Both have the same shape. */
  merge(other: ItemSketch, hash: KeyedHash): void {
    const merged = new TopK(this.top.capacity);
    for (const { item, upper, lower } of this.top.values()) {
      hash.hashString(item);
      const otherUpper = other.upperOf(item, hash.lo, hash.hi);
      merged.offer(item, bounded(upper + otherUpper), bounded(lower + other.lowerOf(item)));
    }
    for (const { item, upper, lower } of other.top.values()) {
      if (this.top.get(item) !== undefined) continue;
      hash.hashString(item);
      merged.offer(item, bounded(upper + this.#upperOfUnlisted(hash.lo, hash.hi)), lower);
    }
    this.cut = Math.max(bounded(this.cut + other.cut), merged.dropped);
    this.top = merged;
    this.cells.merge(other.cells);
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

function bounded(value: number): number {
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}
