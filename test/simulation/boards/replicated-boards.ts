/**
 * The stores of boards with replicas. What each slot was told is kept in order, and a failover
 * tells a fresh primary a part of it: all that was acknowledged, and any number of what came after.
 */
import { ManualClock } from '../../../src/lib/clock.ts';
import type { Prng } from '../../../src/lib/prng.ts';
import type { Tag, TagSource } from '../../../src/lib/random-tag.ts';
import { MemoryBoardStore } from '../../../src/store/memory/memory-board-store.ts';
import { MemoryDocumentStore } from '../../../src/store/memory/memory-document-store.ts';

/** What is taken out of the protocol, so that a simulation can be seen to notice. */
export type BoardCanary = 'none' | 'move_without_fence' | 'part_without_epoch_check';

export const BOARD_LIMITS = {
  keyTtlMs: 24 * 3_600_000,
  idTtlMs: 3_600_000,
  callTtlMs: 600_000,
  maxRememberedIds: 1_000_000,
};

interface Told<Store> {
  readonly atMs: number;
  readonly run: (store: Store) => Promise<unknown>;
}

/** One slot: its primary, and what it was told. */
export class ReplicatedSlot<Store> {
  readonly #open: (clock: ManualClock) => Store;
  readonly #told: Told<Store>[] = [];
  #acknowledged = 0;
  #clock: ManualClock;
  #primary: Store;

  constructor(open: (clock: ManualClock) => Store) {
    this.#open = open;
    this.#clock = new ManualClock();
    this.#primary = open(this.#clock);
  }

  read<T>(atMs: number, run: (store: Store) => Promise<T>): Promise<T> {
    this.#clock.jumpTo(atMs);
    return run(this.#primary);
  }

  write<T>(atMs: number, run: (store: Store) => Promise<T>): Promise<T> {
    this.#told.push({ atMs, run });
    return this.read(atMs, run);
  }

  /** Everything so far is on the replicas. */
  acknowledge(): void {
    this.#acknowledged = this.#told.length;
  }

  async failOver(prng: Prng): Promise<void> {
    const behind = prng.nextInt(this.#told.length - this.#acknowledged + 1);
    this.#told.length -= behind;
    this.#acknowledged = this.#told.length;
    if (behind === 0) return;
    this.#clock = new ManualClock();
    this.#primary = this.#open(this.#clock);
    for (const { atMs, run } of this.#told) {
      this.#clock.jumpTo(atMs);
      await run(this.#primary);
    }
  }
}

/** Every part of every board in a slot of its own, and one slot for the documents. */
export class ReplicatedBoards {
  readonly documents: ReplicatedSlot<MemoryDocumentStore>;
  readonly #parts = new Map<Tag, ReplicatedSlot<MemoryBoardStore>>();

  constructor() {
    this.documents = new ReplicatedSlot(() => new MemoryDocumentStore(countedTags()));
  }

  part(name: Tag): ReplicatedSlot<MemoryBoardStore> {
    let slot = this.#parts.get(name);
    if (slot === undefined) {
      slot = new ReplicatedSlot(
        (clock) => new MemoryBoardStore({ ...BOARD_LIMITS, clock, tags: countedTags() }),
      );
      this.#parts.set(name, slot);
    }
    return slot;
  }

  /** One slot, drawn from the seed, or all of them. */
  async failOver(prng: Prng): Promise<void> {
    const slots = [this.documents, ...this.#parts.values()];
    const one = prng.nextInt(slots.length + 1);
    for (const [index, slot] of slots.entries()) {
      if (one === index || one === slots.length) await slot.failOver(prng);
    }
  }
}

/** The same tags again whenever a primary is told the same. */
function countedTags(): TagSource {
  let count = 0;
  return () => {
    count += 1;
    return count.toString(16).padStart(16, '0');
  };
}
