/*
 * What      Set of 64-bit hashes: which actors were seen, exactly, while they are few.
 * Paper     Open addressing with linear probing: Knuth, TAOCP 3, 6.4, algorithm L.
 * Params    None. A hash is a pair (lo, hi) of unsigned 32-bit halves of a keyed hash.
 * Guarantee size = number of different hashes added, always. Different actors share a hash with
 *           probability about size^2 / 2^65, so size counts the actors themselves.
 * Memory    8 bytes a slot; 16 slots at first, or as many as the expected size needs, doubled
 *           whenever 3 of 4 would be exceeded.
 * Cost      add, has O(1) expected: the keyed hash is the probe position, so that nobody outside
 *           can aim at one slot. sorted O(size log size); clone, forEach O(slots).
 * Merge     Union: add every hash of one set to a clone of the other; the same in any order.
 * Not       No removal, no listing of actors (their names are not kept), no limit of its own:
 *           the owner changes over to HyperLogLog before the set grows large.
 */

const SLOTS_INITIAL = 16;
const LOAD_MAX = 0.75;

/** A set of 64-bit hashes, each as two unsigned 32-bit halves. */
export class ActorSet {
  /** Pairs lo, hi; a pair of zeros is a free slot. The slot count is a power of two. */
  #slots: Uint32Array<ArrayBuffer>;
  /** Hashes in #slots: all but the zero hash, which would look like a free slot. */
  #storedCount: number;
  #hasZero: boolean;

  /** With room for `expectedSize` hashes. */
  constructor(expectedSize = 0) {
    let slotCount = SLOTS_INITIAL;
    while (expectedSize > slotCount * LOAD_MAX) slotCount *= 2;
    this.#slots = new Uint32Array(2 * slotCount);
    this.#storedCount = 0;
    this.#hasZero = false;
  }

  /** Number of different hashes. */
  get size(): number {
    return this.#storedCount + (this.#hasZero ? 1 : 0);
  }

  /** Bytes of memory that the slots take. */
  get byteLength(): number {
    return this.#slots.byteLength;
  }

  /** Adds a hash and says whether it is new. */
  add(lo: number, hi: number): boolean {
    if (lo === 0 && hi === 0) {
      const isNew = !this.#hasZero;
      this.#hasZero = true;
      return isNew;
    }
    let place = findPlace(this.#slots, lo, hi);
    if (!isFree(this.#slots, place)) return false;
    const slotCount = this.#slots.length / 2;
    if (this.#storedCount + 1 > slotCount * LOAD_MAX) {
      this.#slots = rehashed(this.#slots, 2 * slotCount);
      place = findPlace(this.#slots, lo, hi);
    }
    this.#slots[place] = lo;
    this.#slots[place + 1] = hi;
    this.#storedCount += 1;
    return true;
  }

  has(lo: number, hi: number): boolean {
    if (lo === 0 && hi === 0) return this.#hasZero;
    return !isFree(this.#slots, findPlace(this.#slots, lo, hi));
  }

  /** Visits every hash once, in no stated order. The set must not change meanwhile. */
  forEach(visit: (lo: number, hi: number) => void): void {
    if (this.#hasZero) visit(0, 0);
    const slots = this.#slots;
    for (let place = 0; place < slots.length; place += 2) {
      if (!isFree(slots, place)) visit(slots[place]!, slots[place + 1]!);
    }
  }

  clone(): ActorSet {
    const copy = new ActorSet();
    copy.#slots = this.#slots.slice();
    copy.#storedCount = this.#storedCount;
    copy.#hasZero = this.#hasZero;
    return copy;
  }

  /**
   * All hashes as [lo0, hi0, lo1, hi1, ...] in ascending order of the 64-bit number hi:lo. Equal
   * sets give equal arrays, whatever the order of their additions.
   */
  sorted(): Uint32Array<ArrayBuffer> {
    const pairs = new Uint32Array(2 * this.size);
    let place = 0;
    this.forEach((lo, hi) => {
      pairs[place] = lo;
      pairs[place + 1] = hi;
      place += 2;
    });
    // On a little-endian machine the pair lo, hi is the 64-bit number hi:lo in memory.
    new BigUint64Array(pairs.buffer).sort();
    return pairs;
  }
}

function isFree(slots: Uint32Array, place: number): boolean {
  return slots[place] === 0 && slots[place + 1] === 0;
}

/** Where a hash other than zero lies in the slots, or else the free place that it would take. */
function findPlace(slots: Uint32Array, lo: number, hi: number): number {
  const placeMask = slots.length - 1;
  let place = (2 * lo) & placeMask;
  while (!isFree(slots, place) && (slots[place] !== lo || slots[place + 1] !== hi)) {
    place = (place + 2) & placeMask;
  }
  return place;
}

function rehashed(slots: Uint32Array, slotCount: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(2 * slotCount);
  for (let place = 0; place < slots.length; place += 2) {
    if (isFree(slots, place)) continue;
    const lo = slots[place]!;
    const hi = slots[place + 1]!;
    const target = findPlace(larger, lo, hi);
    larger[target] = lo;
    larger[target + 1] = hi;
  }
  return larger;
}
