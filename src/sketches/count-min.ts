/*
 * What      How often did an item occur? One-sided estimate in fixed memory.
 * Paper     Cormode, Muthukrishnan, 2005, "An improved data stream summary: the count-min sketch
 *           and its applications"; conservative update: Estan, Varghese, 2002, "New directions in
 *           traffic measurement and accounting". Deviation: the row positions come from one 64-bit
 *           hash by double hashing (Kirsch, Mitzenmacher, 2006), spread by a multiplication.
 * Params    epsilon in (0, 1) -> width = the power of two at or above e / epsilon; delta in (0, 1)
 *           -> depth = ceil(ln(1 / delta)). Limits: 16 <= width <= 2^20, 1 <= depth <= 16.
 * Guarantee true <= estimate, always. estimate <= true + epsilon * total with probability at
 *           least 1 - delta for an item that is asked for.
 * Memory    4 * width * depth bytes while the total is below 2^32, else 8 * width * depth. Cells
 *           are exact up to 2^53 - 1, then they saturate, and `saturated` says so.
 * Cost      add, estimate: O(depth), whatever the count. merge: O(width * depth).
 * Merge     Same width, depth and hash key: cells add. After plain adds the result is the sketch of
 *           both streams, byte for byte; after conservative ones it is an upper bound of it. A
 *           larger sketch folds to a smaller shape first: positions are the top bits of a spread
 *           hash, so that neighbouring cells add, and rows beyond the depth are left out.
 * Not       No removal, no list of items (top-k.ts has it). The cells after conservative adds
 *           depend on their order.
 */
import { assert } from '../lib/assert.ts';
import { PackedCells } from './packed-cells.ts';

export const WIDTH_MIN = 16;
export const WIDTH_MAX = 2 ** 20;
export const DEPTH_MAX = 16;

const TWO_POW_32 = 2 ** 32;
/** 2^32 divided by the golden ratio, odd: Knuth's multiplicative hashing. */
const SPREAD = 0x9e3779b1;

export interface CountMinShape {
  /** Cells per row: a power of two. */
  readonly width: number;
  /** Rows. */
  readonly depth: number;
}

/** The smallest shape that promises `epsilon` (relative to the total) and `delta` (failure). */
export function shapeFor(epsilon: number, delta: number): CountMinShape {
  assert(epsilon > 0 && epsilon < 1, 'epsilon lies between 0 and 1');
  assert(delta > 0 && delta < 1, 'delta lies between 0 and 1');
  // A hair of slack, so that guaranteeOf() and shapeFor() invert each other in floating point.
  const width = 2 ** Math.ceil(Math.log2((Math.E / epsilon) * (1 - 1e-12)));
  const depth = Math.ceil(Math.log(1 / delta) * (1 - 1e-12));
  return { width: Math.max(width, WIDTH_MIN), depth: Math.max(depth, 1) };
}

/** What a shape promises. */
export function guaranteeOf(shape: CountMinShape): { epsilon: number; delta: number } {
  return { epsilon: Math.E / shape.width, delta: Math.exp(-shape.depth) };
}

export function isCountMinShape(width: number, depth: number): boolean {
  const isPowerOfTwo = Number.isInteger(Math.log2(width));
  const isDepth = Number.isInteger(depth) && depth >= 1 && depth <= DEPTH_MAX;
  return isPowerOfTwo && width >= WIDTH_MIN && width <= WIDTH_MAX && isDepth;
}

export type Cells = Uint32Array | Float64Array;

export class CountMin {
  readonly width: number;
  readonly depth: number;
  /** True once a cell would have passed 2^53 - 1: estimates are then no upper bounds any more. */
  saturated = false;
  /** Row after row. No cell is above the total. */
  #stored: Cells | PackedCells;
  #total = 0;
  readonly #shift: number;

  constructor(shape: CountMinShape, cells?: Cells | PackedCells, total = 0) {
    assert(isCountMinShape(shape.width, shape.depth), 'width and depth are within their limits');
    this.width = shape.width;
    this.depth = shape.depth;
    this.#shift = 32 - Math.log2(shape.width);
    this.#stored = cells ?? new Uint32Array(shape.width * shape.depth);
    assert(this.#stored.length === shape.width * shape.depth, 'there is a cell for each position');
    this.#total = total;
  }

  get cells(): Readonly<Cells> {
    return this.#cells;
  }

  get total(): number {
    return this.#total;
  }

  /** Packed cells count as what they become: a cache of them must not grow as it is used. */
  get byteLength(): number {
    return this.#stored.byteLength;
  }

  /** Never below the true count of the item with this hash. */
  estimate(lo: number, hi: number): number {
    const cells = this.#cells;
    let least = Number.MAX_SAFE_INTEGER;
    for (let row = 0; row < this.depth; row += 1) {
      const cell = cells[this.#position(row, lo, hi)]!;
      if (cell < least) least = cell;
    }
    return least;
  }

  /** Plain update: every row's cell grows by `count`. */
  add(lo: number, hi: number, count: number): void {
    this.grow(count);
    const cells = this.#cells;
    for (let row = 0; row < this.depth; row += 1) {
      const at = this.#position(row, lo, hi);
      cells[at] = this.#bounded(cells[at]! + count);
    }
  }

  /** Conservative update: cells grow only as far as the item's new estimate. */
  addConservative(lo: number, hi: number, count: number): void {
    const upper = this.#bounded(this.estimate(lo, hi) + count);
    this.grow(count);
    this.raise(lo, hi, upper);
  }

  /**
   * The conservative update's second half, for callers that know an item's new upper bound better
   * than the cells do: makes sure that every cell of the item is at least `upper`.
   */
  raise(lo: number, hi: number, upper: number): void {
    const cells = this.#cells;
    for (let row = 0; row < this.depth; row += 1) {
      const at = this.#position(row, lo, hi);
      if (cells[at]! < upper) cells[at] = upper;
    }
  }

  /** Counts into the total only; from 2^32 on cells need 64-bit floats (exact to 2^53 - 1). */
  grow(count: number): void {
    this.#total = this.#bounded(this.#total + count);
    if (this.#total >= TWO_POW_32 && this.#cells instanceof Uint32Array) {
      this.#stored = Float64Array.from(this.#cells);
    }
  }

  /** Adds the other's cells to these; the other is unchanged. Both have the same shape. */
  merge(other: CountMin): void {
    assert(other.width === this.width && other.depth === this.depth, 'shapes are equal');
    this.saturated ||= other.saturated;
    this.grow(other.total);
    const cells = this.#cells;
    const added = other.cells;
    if (this.#total < Number.MAX_SAFE_INTEGER) {
      for (let at = 0; at < cells.length; at += 1) cells[at] = cells[at]! + added[at]!;
      return;
    }
    for (let at = 0; at < cells.length; at += 1) {
      cells[at] = this.#bounded(cells[at]! + added[at]!);
    }
  }

  /** The same counts in a smaller shape, or a copy: an upper bound of what that would have held. */
  folded({ width, depth }: CountMinShape): CountMin {
    assert(width <= this.width && depth <= this.depth, 'sketches fold to smaller shapes');
    const ratio = this.width / width;
    const copy = new CountMin({ width, depth }, undefined, 0);
    copy.saturated = this.saturated;
    copy.grow(this.#total);
    const cells = copy.#cells;
    for (let at = 0; at < cells.length; at += 1) {
      let sum = 0;
      for (let part = 0; part < ratio; part += 1) sum += this.#cells[at * ratio + part]!;
      // No item occurs more often than all together.
      cells[at] = Math.min(sum, this.#total);
    }
    return copy;
  }

  clone(): CountMin {
    const copy = new CountMin(this, this.#cells.slice(), this.#total);
    copy.saturated = this.saturated;
    return copy;
  }

  get #cells(): Cells {
    if (this.#stored instanceof PackedCells) this.#stored = this.#stored.unpack();
    return this.#stored;
  }

  #position(row: number, lo: number, hi: number): number {
    const mixed = Math.imul((lo + Math.imul(row, hi | 1)) | 0, SPREAD) >>> this.#shift;
    return row * this.width + mixed;
  }

  #bounded(value: number): number {
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    this.saturated = true;
    return Number.MAX_SAFE_INTEGER;
  }
}
