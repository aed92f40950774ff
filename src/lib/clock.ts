import { assert } from './assert.ts';

/** The only source of time. Epoch milliseconds, UTC. */
export interface Clock {
  nowMs(): number;
  /** Milliseconds, with fractions, since some moment: for how long things take. */
  elapsedMs(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts; it never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener('abort', finish);
    }),
};

interface Sleeper {
  readonly wakeAtElapsedMs: number;
  readonly wake: () => void;
}

/**
 * A clock that moves only when it is told to. Sleepers wake in the order of their wake times,
 * those with the same time in the order in which they fell asleep. As on a real machine, the
 * wall clock can be set (`jumpTo`) while sleeps go on by the time that really passed.
 */
export class ManualClock implements Clock {
  #elapsedMs = 0;
  #wallOffsetMs: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startMs = 0) {
    this.#wallOffsetMs = startMs;
  }

  nowMs(): number {
    return this.#wallOffsetMs + this.#elapsedMs;
  }

  elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** How many sleeps are pending. */
  get sleeperCount(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const sleeper: Sleeper = {
        wakeAtElapsedMs: this.#elapsedMs + Math.max(ms, 0),
        wake: () => {
          signal?.removeEventListener('abort', sleeper.wake);
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake);
    });
  }

  /**
   * Moves time forward and wakes whoever is due, each at its own moment. What a woken sleeper
   * does next (for instance sleeping again) happens before time moves on, so a loop that sleeps
   * 100 ms runs ten times in `advance(1000)`.
   */
  async advance(ms: number): Promise<void> {
    assert(ms >= 0, 'time does not run backwards; jumpTo sets the wall clock');
    const endElapsedMs = this.#elapsedMs + ms;
    await runReadyPromises();
    let next = this.#nextDue(endElapsedMs);
    while (next !== undefined) {
      this.#elapsedMs = next.wakeAtElapsedMs;
      next.wake();
      await runReadyPromises();
      next = this.#nextDue(endElapsedMs);
    }
    this.#elapsedMs = endElapsedMs;
  }

  /** Sets the wall clock, forward or back, without waking anybody: what NTP does to a server. */
  jumpTo(nowMs: number): void {
    this.#wallOffsetMs = nowMs - this.#elapsedMs;
  }

  /** The set keeps the order of falling asleep, so a strict comparison keeps it among equals. */
  #nextDue(endElapsedMs: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      const isEarlier = first === undefined || sleeper.wakeAtElapsedMs < first.wakeAtElapsedMs;
      if (sleeper.wakeAtElapsedMs <= endElapsedMs && isEarlier) {
        first = sleeper;
      }
    }
    return first;
  }
}

/** One turn of the event loop: every promise chain that is ready runs to its next real wait. */
function runReadyPromises(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
