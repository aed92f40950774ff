/*
 * What      The largest `capacity` items of those offered: a min-heap with an index by item.
 * Paper     The heap beside the sketch of Charikar, Chen, Farach-Colton, 2002, "Finding frequent
 *           items in data streams"; binary heap: Williams, 1964. Deviation: each item carries a
 *           lower bound beside the count it is ranked by, and the largest count ever turned away
 *           is remembered.
 * Params    capacity >= 1.
 * Guarantee An item is in the heap once. Every item that was offered and is not in it has a count
 *           at or below `dropped` and at or below every count in the heap.
 * Memory    About 100 bytes an item plus the item.
 * Cost      offer: O(log capacity), O(1) when turned away. rows: O(n log n).
 * Merge     By offering the rows of one to the other, after the counts of equal items were added.
 * Not       Counts of an item must not fall. It does not count: summary.ts does.
 */
import { assert } from '../lib/assert.ts';
import { compareUtf8 } from '../lib/utf8.ts';

/** `upper` is what the item is ranked by; lower <= true count <= upper. */
export interface Candidate {
  readonly item: string;
  readonly upper: number;
  readonly lower: number;
}

/** The order of every list of items: upper descending, then the item's UTF-8 bytes. */
export function compareCandidates(a: Candidate, b: Candidate): number {
  return b.upper - a.upper || compareUtf8(a.item, b.item);
}

export class TopK {
  readonly capacity: number;
  /** The largest upper bound among items that were turned away or pushed out; 0 if none was. */
  dropped = 0;
  /** A binary heap: the last in the order of compareCandidates is at index 0. */
  readonly #heap: Candidate[] = [];
  readonly #indexes = new Map<string, number>();

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity >= 1, 'the capacity is a positive integer');
    this.capacity = capacity;
  }

  get size(): number {
    return this.#heap.length;
  }

  get #isFull(): boolean {
    return this.#heap.length === this.capacity;
  }

  get(item: string): Candidate | undefined {
    const index = this.#indexes.get(item);
    return index === undefined ? undefined : this.#heap[index];
  }

  /** Adds the item, or replaces its bounds by larger ones. */
  offer(item: string, upper: number, lower: number): void {
    const known = this.#indexes.get(item);
    if (known === undefined && this.#isFull && upper < this.#heap[0]!.upper) {
      this.dropped = Math.max(this.dropped, upper);
      return;
    }
    const candidate: Candidate = { item, upper, lower };
    if (known !== undefined) {
      assert(upper >= this.#heap[known]!.upper, 'the count of an item does not fall');
      this.#siftDown(known, candidate);
      return;
    }
    if (!this.#isFull) {
      this.#heap.push(candidate);
      this.#siftUp(this.#heap.length - 1, candidate);
      return;
    }
    const last = this.#heap[0]!;
    if (compareCandidates(candidate, last) >= 0) {
      this.dropped = Math.max(this.dropped, upper);
      return;
    }
    this.dropped = Math.max(this.dropped, last.upper);
    this.#indexes.delete(last.item);
    this.#siftDown(0, candidate);
  }

  /** In heap order: cheap, for callers that need no order. */
  values(): IterableIterator<Candidate> {
    return this.#heap.values();
  }

  /** All items in the order of compareCandidates. */
  rows(): Candidate[] {
    return this.#heap.toSorted(compareCandidates);
  }

  clone(): TopK {
    const copy = new TopK(this.capacity);
    copy.dropped = this.dropped;
    for (const candidate of this.#heap) {
      copy.#indexes.set(candidate.item, copy.#heap.length);
      copy.#heap.push(candidate);
    }
    return copy;
  }

  #siftUp(start: number, candidate: Candidate): void {
    let index = start;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex]!;
      if (compareCandidates(candidate, parent) <= 0) break;
      this.#place(index, parent);
      index = parentIndex;
    }
    this.#place(index, candidate);
  }

  #siftDown(start: number, candidate: Candidate): void {
    let index = start;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= this.#heap.length) break;
      let child = this.#heap[childIndex]!;
      const right = this.#heap[childIndex + 1];
      if (right !== undefined && compareCandidates(right, child) > 0) {
        child = right;
        childIndex += 1;
      }
      if (compareCandidates(candidate, child) >= 0) break;
      this.#place(index, child);
      index = childIndex;
    }
    this.#place(index, candidate);
  }

  #place(index: number, candidate: Candidate): void {
    this.#heap[index] = candidate;
    this.#indexes.set(candidate.item, index);
  }
}
