import { assert } from './assert.ts';

export interface WeightedValue {
  readonly value: number;
  /** At least 0; without a weight a value takes no part, and may be anything. */
  readonly weight: number;
}

/**
 * The smallest of some values up to which there is half of their weight; also without one of them,
 * which takes O(log n) once they are sorted.
 */
export class WeightedMedian {
  readonly #values: readonly number[];
  /** Weights summed up to each of the values. */
  readonly #sums: Float64Array;
  /** Where the value that was given at an index is. */
  readonly #places = new Map<number, number>();

  constructor(parts: readonly WeightedValue[]) {
    const ordered = parts
      .map(({ value, weight }, index) => ({ value, weight, index }))
      .filter(({ weight }) => weight > 0)
      .sort((a, b) => a.value - b.value);
    this.#values = ordered.map(({ value }) => value);
    this.#sums = new Float64Array(ordered.length);
    let sum = 0;
    for (const [place, { index, weight }] of ordered.entries()) {
      sum += weight;
      this.#sums[place] = sum;
      this.#places.set(index, place);
    }
  }

  /** `without`: the index of a value that is left out; some weight must remain. */
  median(without: number | null = null): number {
    const sums = this.#sums;
    const left = without === null ? undefined : this.#places.get(without);
    const leftWeight = left === undefined ? 0 : sums[left]! - (sums[left - 1] ?? 0);
    const half = ((sums.at(-1) ?? 0) - leftWeight) / 2;
    assert(half > 0, 'there is some weight');
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const sum = sums[middle]! - (left !== undefined && left <= middle ? leftWeight : 0);
      if (sum >= half) high = middle;
      else low = middle + 1;
    }
    return this.#values[low]!;
  }
}
