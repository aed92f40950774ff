/*
 * What      The different actors of one item over many summaries, while they are gathered.
 * Paper     As viewer-set.ts: hashes, and registers where the hashes are no longer known.
 * Params    None.
 * Guarantee The lower bound counts hashes, and the upper one adds `missed` to them: both hold
 *           always while no registers were added. With registers both are those of a normal
 *           distribution in 95 of 100 cases, but never below the hashes that are known or above the
 *           events.
 * Memory    8 to 16 bytes a hash, 1 KiB with registers.
 * Cost      O(1) a hash, O(registers) a set of registers.
 * Merge     None: whatever is to be united is added.
 * Not       No removal, and nothing that is stored.
 */
import { ActorSet } from './actor-set.ts';
import { ViewerSet } from './viewer-set.ts';

/** Two-sided 95 % of a normal distribution, which the estimator's error follows closely. */
const Z_95 = 1.96;

/** How many different actors an item had. */
export interface ViewersOfItem {
  readonly estimate: number;
  readonly lower: number;
  readonly upper: number;
  /** Relative, of the estimate; 0 where actors were counted and not estimated. */
  readonly standardError: number;
  /** Whether all of them were counted. */
  readonly exact: boolean;
}

export class ViewerUnion {
  readonly #hashes = new ActorSet();
  #registers: ViewerSet | null = null;
  #missed = 0;

  /** Pairs lo, hi, from `start` up to `end`. */
  addWords(words: Uint32Array, start: number, end: number): void {
    for (let at = start; at < end; at += 2) this.#hashes.add(words[at]!, words[at + 1]!);
  }

  addSet(set: ViewerSet): void {
    if (set.isExact) {
      set.forEachHash((lo, hi) => this.#hashes.add(lo, hi));
    } else if (this.#registers === null) {
      this.#registers = set.clone();
    } else {
      this.#registers.merge(set);
    }
  }

  /** Registers as `ViewerSet.writeTo` writes them. */
  addRegisters(bytes: Uint8Array, start: number): void {
    this.#registers ??= new ViewerSet();
    this.#registers.addPackedRegisters(bytes, start);
  }

  /** There may be so many more, whose hashes are not known. */
  addMissed(count: number): void {
    this.#missed += count;
  }

  /** `events`: the item's events, at most; each is of one actor. */
  result(events: number): ViewersOfItem {
    const known = this.#hashes.size;
    const most = Math.max(known, events);
    const missed = this.#missed;
    if (this.#registers === null) {
      const upper = Math.min(known + missed, most);
      return { estimate: known, lower: known, upper, standardError: 0, exact: upper === known };
    }
    const registers = this.#registers.clone();
    this.#hashes.forEach((lo, hi) => registers.add(lo, hi));
    const within = (value: number): number => Math.min(Math.max(Math.round(value), known), most);
    const estimate = registers.estimate();
    const margin = Z_95 * ViewerSet.standardError * estimate;
    return {
      estimate: within(estimate),
      lower: within(estimate - margin),
      upper: within(estimate + margin + missed),
      standardError: ViewerSet.standardError,
      exact: false,
    };
  }
}
