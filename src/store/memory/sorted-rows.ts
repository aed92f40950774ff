/**
 * Rows in the order of boards, ascending by (key, element), with ranks and pages in about the
 * square root of their number: a list of short sorted chunks. A tree would be faster for tens of
 * millions, which one process does not hold.
 */
import type { Position } from '../../boards/store-port.ts';
import { assert } from '../../lib/assert.ts';

const CHUNK_ROWS_MAX = 512;
/** A chunk that shrinks below this joins its neighbour, where both together are no large one. */
const CHUNK_ROWS_MIN = 128;
const JOINED_ROWS_MAX = 384;

class RowChunk<Row extends Position> {
  rows: Row[];
  /** How many different keys; counted when asked for, null when the rows have changed. */
  #levels: number | null = null;

  constructor(rows: Row[]) {
    this.rows = rows;
  }

  changed(): void {
    this.#levels = null;
  }

  levels(): number {
    this.#levels ??= countLevels(this.rows, this.rows.length);
    return this.#levels;
  }
}

interface Place {
  readonly chunk: number;
  readonly index: number;
}

export class SortedRows<Row extends Position> {
  readonly #chunks: RowChunk<Row>[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  first(): Row | undefined {
    return this.#chunks[0]?.rows[0];
  }

  last(): Row | undefined {
    return this.#chunks.at(-1)?.rows.at(-1);
  }

  /** No row of the same key and element may be there. */
  add(row: Row): void {
    if (this.#chunks.length === 0) this.#chunks.push(new RowChunk([]));
    const { chunk: at, index } = this.#placeOf(row);
    const chunk = this.#chunks[at]!;
    assert(!isAt(chunk.rows[index], row), 'a place holds one row');
    this.#size += 1;
    chunk.rows.splice(index, 0, row);
    chunk.changed();
    if (chunk.rows.length > CHUNK_ROWS_MAX) {
      const rest = chunk.rows.splice(CHUNK_ROWS_MAX >> 1);
      this.#chunks.splice(at + 1, 0, new RowChunk(rest));
    }
  }

  /** Takes out the row of that key and element, which must be there. */
  remove(position: Position): void {
    const { chunk: at, index } = this.#placeOf(position);
    const chunk = this.#chunks[at];
    assert(chunk !== undefined && isAt(chunk.rows[index], position), 'the row is there');
    chunk.rows.splice(index, 1);
    chunk.changed();
    this.#size -= 1;
    if (chunk.rows.length < CHUNK_ROWS_MIN) this.#shrink(at);
  }

  /** How many rows stand before a position; for a row's own position, its 0-based index. */
  countBefore(position: Position): number {
    const { chunk: end, index } = this.#placeOf(position);
    let count = index;
    for (let at = 0; at < end; at += 1) count += this.#chunks[at]!.rows.length;
    return count;
  }

  /** At most `limit` rows from a 0-based index on. */
  slice(start: number, limit: number): Row[] {
    const found: Row[] = [];
    let skip = start;
    for (const { rows } of this.#chunks) {
      if (found.length >= limit) break;
      if (skip >= rows.length) {
        skip -= rows.length;
        continue;
      }
      const end = Math.min(rows.length, skip + limit - found.length);
      for (let index = skip; index < end; index += 1) found.push(rows[index]!);
      skip = 0;
    }
    return found;
  }

  /** How many different keys are below a bound. */
  countLevels(below: number): number {
    const { chunk: end, index } = this.#placeOf({ key: below, element: '' });
    let count = 0;
    let lastKey: number | undefined;
    for (let at = 0; at <= end && at < this.#chunks.length; at += 1) {
      const chunk = this.#chunks[at]!;
      const { rows } = chunk;
      if (at === end && index === 0) break;
      count += at === end ? countLevels(rows, index) : chunk.levels();
      // A key whose ties lie in two chunks is one level.
      if (rows[0]!.key === lastKey) count -= 1;
      lastKey = rows.at(-1)!.key;
    }
    return count;
  }

  /** The first `limit` different keys below a bound, ascending. */
  firstLevels(below: number, limit: number): number[] {
    const keys: number[] = [];
    for (const { rows } of this.#chunks) {
      for (const { key } of rows) {
        if (key >= below || keys.length >= limit) return keys;
        if (key !== keys.at(-1)) keys.push(key);
      }
    }
    return keys;
  }

  /** Where the first row that is not before the position is, or the end of the last chunk. */
  #placeOf(position: Position): Place {
    if (this.#size === 0) return { chunk: 0, index: 0 };
    const behind = firstNotBefore(this.#chunks.length, (at) => {
      return isBefore(this.#chunks[at]!.rows.at(-1)!, position);
    });
    const chunk = Math.min(behind, this.#chunks.length - 1);
    const { rows } = this.#chunks[chunk]!;
    return { chunk, index: firstNotBefore(rows.length, (at) => isBefore(rows[at]!, position)) };
  }

  #shrink(at: number): void {
    const { rows } = this.#chunks[at]!;
    if (rows.length === 0) {
      this.#chunks.splice(at, 1);
      return;
    }
    const first = at + 1 < this.#chunks.length ? at : at - 1;
    const [left, right] = [this.#chunks[first], this.#chunks[first + 1]];
    if (left === undefined || right === undefined) return;
    if (left.rows.length + right.rows.length > JOINED_ROWS_MAX) return;
    left.rows.push(...right.rows);
    left.changed();
    this.#chunks.splice(first + 1, 1);
  }
}

function isBefore(a: Position, b: Position): boolean {
  return a.key === b.key ? a.element < b.element : a.key < b.key;
}

function isAt(row: Position | undefined, { key, element }: Position): boolean {
  return row !== undefined && row.key === key && row.element === element;
}

/** The first of `count` places that does not stand before something, by halving. */
function firstNotBefore(count: number, standsBefore: (at: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (standsBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function countLevels(rows: readonly Position[], end: number): number {
  let count = 0;
  for (let index = 0; index < end; index += 1) {
    if (index === 0 || rows[index]!.key !== rows[index - 1]!.key) count += 1;
  }
  return count;
}
