import type { Clock } from '../lib/clock.ts';
import { JobRunner } from './job-runner.ts';
import type { Job, JobObserver, Scheduler } from './scheduler.ts';

/** A loop for each job in this process: for the embedded store, which nobody else can reach. */
export class InProcessScheduler implements Scheduler {
  readonly #clock: Clock;
  readonly #runner: JobRunner;
  readonly #closing = new AbortController();
  readonly #loops: Promise<void>[] = [];

  constructor(clock: Clock, observer: JobObserver) {
    this.#clock = clock;
    this.#runner = new JobRunner(clock, observer);
  }

  async every(name: string, intervalMs: number, job: Job): Promise<void> {
    this.#loops.push(this.#loop(name, intervalMs, job));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#loops);
  }

  async #loop(name: string, intervalMs: number, job: Job): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#clock.sleep(intervalMs, signal);
      if (!signal.aborted) await this.#runner.run(name, job);
    }
  }
}
