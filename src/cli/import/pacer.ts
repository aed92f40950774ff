import type { Clock } from '../../lib/clock.ts';

/** Spreads sends so that so many events a second leave, without making up for time lost. */
export class Pacer {
  readonly #eventsPerSecond: number;
  readonly #clock: Clock;
  #freeAtMs: number;

  constructor(eventsPerSecond: number, clock: Clock) {
    this.#eventsPerSecond = eventsPerSecond;
    this.#clock = clock;
    this.#freeAtMs = clock.nowMs();
  }

  /** Resolves when so many events may be sent, or early when `signal` aborts. */
  async take(eventCount: number, signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.nowMs();
    const startMs = Math.max(this.#freeAtMs, nowMs);
    this.#freeAtMs = startMs + (eventCount / this.#eventsPerSecond) * 1000;
    if (startMs > nowMs) await this.#clock.sleep(startMs - nowMs, signal);
  }
}
