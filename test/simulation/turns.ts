import type { Prng } from '../../src/lib/prng.ts';

/**
 * The order in which concurrent steps happen, drawn from a seed: whoever wants to take a step waits
 * for its turn, and `next` lets one of those that wait go on.
 */
export class Turns {
  readonly #prng: Prng;
  readonly #waiting: (() => void)[] = [];

  constructor(prng: Prng) {
    this.#prng = prng;
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** False when nobody waits. */
  next(): boolean {
    if (this.#waiting.length === 0) return false;
    const [proceed] = this.#waiting.splice(this.#prng.nextInt(this.#waiting.length), 1);
    proceed!();
    return true;
  }
}

/** Every promise that can go on has gone on until it waits for a turn or for time. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
