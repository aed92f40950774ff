import { assert } from './assert.ts';
import type { Counts } from './counts.ts';

/** So few of the largest are kept in order while all values pass once. */
const KEPT_MAX = 64;
/** Below so many values sorting them is as quick as anything. */
const SORT_LENGTH_MAX = 32;

/** The n-th largest of the values, n in 1..length. */
export function nthLargest(values: Counts, n: number): number {
  assert(n >= 1 && n <= values.length, 'there is an n-th value');
  return n <= KEPT_MAX ? lastOfKept(values, n) : selected(values, n);
}

/** The index of the first value from `start` on that is at least `least`; past the end if there is none. */
export function nextAtLeast(values: Counts, start: number, least: number): number {
  let index = start;
  while (index < values.length && values[index]! < least) index += 1;
  return index;
}

/** Insertion into the n largest so far: most values are not among them and cost one comparison. */
function lastOfKept(values: Counts, n: number): number {
  const kept = new Float64Array(n).fill(Number.NEGATIVE_INFINITY);
  let last = Number.NEGATIVE_INFINITY;
  let index = 0;
  while (index < values.length) {
    const value = values[index]!;
    if (value > last) {
      let place = n - 1;
      while (place > 0 && kept[place - 1]! < value) {
        kept[place] = kept[place - 1]!;
        place -= 1;
      }
      kept[place] = value;
      last = kept[n - 1]!;
    }
    index = nextAtLeast(values, index + 1, last);
  }
  return last;
}

/**
 * Hoare's selection on a copy: O(length), and after too many unlucky rounds the rest is sorted, so
 * that no order of values is slow.
 */
function selected(values: Counts, n: number): number {
  const copy = values.slice();
  const wanted = copy.length - n;
  let start = 0;
  let end = copy.length - 1;
  let roundsLeft = 2 * Math.ceil(Math.log2(copy.length + 1));
  while (end - start >= SORT_LENGTH_MAX && roundsLeft > 0) {
    roundsLeft -= 1;
    const pivot = median(copy[start]!, copy[(start + end) >>> 1]!, copy[end]!);
    let low = start;
    let high = end;
    while (low <= high) {
      while (copy[low]! < pivot) low += 1;
      while (copy[high]! > pivot) high -= 1;
      if (low > high) break;
      const swapped = copy[low]!;
      copy[low] = copy[high]!;
      copy[high] = swapped;
      low += 1;
      high -= 1;
    }
    // Now all up to `high` are at most the pivot, all from `low` at least, what is between equal.
    if (wanted <= high) end = high;
    else if (wanted >= low) start = low;
    else return pivot;
  }
  copy.subarray(start, end + 1).sort();
  return copy[wanted]!;
}

function median(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
