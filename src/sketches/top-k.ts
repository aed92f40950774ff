/*
 * What      The largest `capacity` items of those offered: a min-heap with an index by item.
 * Paper     The heap beside the sketch of Charikar, Chen, Farach-Colton, 2002, "Finding frequent
 *           items in data streams"; binary heap: Williams, 1964. Deviation: each item carries a
 *           lower bound beside the count it is ranked by, and the largest count ever turned away
 *           is remembered.
 * Params    capacity >= 1.
 * Guarantee An item is in the heap once. Every item that was offered and is not in it has a count
 *           at or below `dropped` and at or below every count in the heap. The result does not
 *           depend on the order of the offers, if each item's last one is its largest.
 * Memory    About 140 bytes an item plus the item; packed, a few bytes more than stored.
 * Cost      offer: O(log capacity), O(1) when turned away. rows: O(n log n). get: O(1), while
 *           packed O(log n).
 * Merge     By offering the rows of one to the other, after the counts of equal items were added.
 * Not       Counts of an item must not fall. It does not count: item-sketch.ts does.
 */
import type { Counts } from '../lib/counts.ts';
import { assert } from '../lib/assert.ts';
import {
  type Bounds,
  type Candidate,
  compareCandidates,
  type ListedItems,
  type VisitRow,
} from './candidate.ts';
import type { ItemKey } from './item-key.ts';
import type { PackedRows } from './packed-rows.ts';

/** Rough cost in memory of an item in the heap, beside its own bytes. */
const NODE_BYTES = 160;

/** A node knows its place, so that moving it in the heap needs no look-up by item. */
interface HeapNode extends Candidate {
  upper: number;
  lower: number;
  index: number;
}

export class TopK implements ListedItems {
  readonly capacity: number;
  /** The largest upper bound among items that were turned away or pushed out; 0 if none was. */
  dropped = 0;
  /** The rows, as long as they are as they were read. */
  #packed: PackedRows | null = null;
  /** A binary heap: the last in the order of compareCandidates is at index 0. */
  readonly #heap: HeapNode[] = [];
  readonly #nodes = new Map<string, HeapNode>();

  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity >= 1, 'the capacity is a positive integer');
    this.capacity = capacity;
  }

  /** Takes stored rows over: at most `capacity`, ascending. */
  static of(capacity: number, rows: PackedRows): TopK {
    assert(rows.size <= capacity && rows.isAscending, 'the rows fit and each item occurs once');
    const top = new TopK(capacity);
    top.#packed = rows;
    return top;
  }

  get size(): number {
    return this.#packed?.size ?? this.#heap.length;
  }

  /** About how much memory this takes, but for the items' own bytes once it is changed. */
  get byteLength(): number {
    return this.#packed?.byteLength ?? this.#heap.length * NODE_BYTES;
  }

  get(item: string): Bounds | undefined {
    return this.#packed?.boundsOf(Buffer.from(item, 'utf8')) ?? this.#nodes.get(item);
  }

  boundsOf(key: ItemKey): Bounds | undefined {
    return this.#packed === null ? this.#nodes.get(key.item) : this.#packed.boundsOf(key.utf8);
  }

  /** Adds the item, or replaces its bounds by larger ones. */
  offer(item: string, upper: number, lower: number): void {
    if (this.#packed !== null) this.#unpack(this.#packed);
    const isFull = this.#heap.length === this.capacity;
    // An item of the heap has no smaller count than its last: this one is not in it.
    if (isFull && upper < this.#heap[0]!.upper) {
      this.dropped = Math.max(this.dropped, upper);
      return;
    }
    const known = this.#nodes.get(item);
    if (known !== undefined) {
      assert(upper >= known.upper, 'the count of an item does not fall');
      known.upper = upper;
      known.lower = lower;
      this.#siftDown(known);
      return;
    }
    const node: HeapNode = { item, upper, lower, index: 0 };
    if (isFull) {
      this.#replaceLast(node);
      return;
    }
    this.#nodes.set(item, node);
    node.index = this.#heap.length;
    this.#heap.push(node);
    this.#siftUp(node);
  }

  uppers(): Counts {
    return this.#packed?.uppers ?? Float64Array.from(this.#heap, ({ upper }) => upper);
  }

  forEach(visit: VisitRow, least = 0): void {
    if (this.#packed !== null) {
      this.#packed.forEach(visit, least);
      return;
    }
    for (const { item, upper, lower } of this.#heap) {
      if (upper >= least) visit(item, upper, lower);
    }
  }

  /** All items in the order of compareCandidates. */
  rows(): Candidate[] {
    const rows: Candidate[] = [];
    this.forEach((item, upper, lower) => {
      rows.push({ item, upper, lower });
    });
    return rows.sort(compareCandidates);
  }

  clone(): TopK {
    const copy = new TopK(this.capacity);
    copy.dropped = this.dropped;
    copy.#packed = this.#packed;
    for (const node of this.#heap) copy.#append({ ...node });
    return copy;
  }

  #unpack(rows: PackedRows): void {
    const sorted = this.rows();
    this.#packed = null;
    // Last in order first: sorted like this, an array is a heap.
    for (let index = rows.size - 1; index >= 0; index -= 1) {
      this.#append({ ...sorted[index]!, index: this.#heap.length });
    }
  }

  #append(node: HeapNode): void {
    this.#heap.push(node);
    this.#nodes.set(node.item, node);
  }

  #replaceLast(node: HeapNode): void {
    const last = this.#heap[0]!;
    if (compareCandidates(node, last) >= 0) {
      this.dropped = Math.max(this.dropped, node.upper);
      return;
    }
    this.dropped = Math.max(this.dropped, last.upper);
    this.#nodes.delete(last.item);
    this.#nodes.set(node.item, node);
    this.#siftDown(node);
  }

  #siftUp(node: HeapNode): void {
    let { index } = node;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#heap[parentIndex]!;
      if (compareCandidates(node, parent) <= 0) break;
      this.#place(index, parent);
      index = parentIndex;
    }
    this.#place(index, node);
  }

  #siftDown(node: HeapNode): void {
    let { index } = node;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= this.#heap.length) break;
      let child = this.#heap[childIndex]!;
      const right = this.#heap[childIndex + 1];
      if (right !== undefined && compareCandidates(right, child) > 0) {
        child = right;
        childIndex += 1;
      }
      if (compareCandidates(node, child) >= 0) break;
      this.#place(index, child);
      index = childIndex;
    }
    this.#place(index, node);
  }

  #place(index: number, node: HeapNode): void {
    this.#heap[index] = node;
    node.index = index;
  }
}
