import type { Clock } from '../lib/clock.ts';
import type { Job, JobObserver } from './scheduler.ts';

/** Runs jobs by name, one run of a name at a time, and tells the observer how it went. */
export class JobRunner {
  readonly #clock: Clock;
  readonly #observer: JobObserver;
  readonly #running = new Map<string, Promise<void>>();

  constructor(clock: Clock, observer: JobObserver) {
    this.#clock = clock;
    this.#observer = observer;
  }

  /** Does nothing while a run of this name is under way: it will run again soon. Never rejects. */
  async run(name: string, job: Job): Promise<void> {
    if (this.#running.has(name)) return;
    const run = this.#observe(name, job);
    this.#running.set(name, run);
    await run;
    this.#running.delete(name);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #observe(name: string, job: Job): Promise<void> {
    const startMs = this.#clock.nowMs();
    const durationMs = (): number => Math.max(this.#clock.nowMs() - startMs, 0);
    try {
      await job();
      this.#observer.done(name, durationMs());
    } catch (error) {
      this.#observer.failed(name, durationMs(), error);
    }
  }
}
