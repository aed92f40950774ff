import { type ConnectionOptions, Queue, Worker } from 'bullmq';
import type { Clock } from '../lib/clock.ts';
import { JobRunner } from './job-runner.ts';
import type { Job, JobObserver, Scheduler } from './scheduler.ts';

const QUEUE_NAME = 'maintenance';
/** Jobs are of no interest once they ran: the metrics count them. */
const JOBS_KEPT = 10;
/** The schedule lies in Redis and goes with it when Redis loses its data: so it is made again. */
const RENEW_INTERVAL_MS = 5_000;

/** A connection as BullMQ wants it, which it does not close by itself. */
export interface BullConnection {
  disconnect(): void;
}

export interface BullSchedulerOptions {
  /** All keys of the queue carry this hash tag: they lie in one slot of a cluster. */
  readonly slotTag: string;
  /** Opens a connection that waits for Redis for ever. */
  readonly connect: () => ConnectionOptions & BullConnection;
  readonly clock: Clock;
  readonly observer: JobObserver;
  readonly onError: (error: Error) => void;
}

/**
 * Jobs on a BullMQ queue: each run goes to one of the workers of all processes, and the work of a
 * process that dies goes to the others. What BullMQ may do besides (a job twice, or late) is
 * harmless by the port's own terms.
 */
export class BullScheduler implements Scheduler {
  readonly #clock: Clock;
  readonly #runner: JobRunner;
  readonly #onError: (error: Error) => void;
  readonly #connections: readonly (ConnectionOptions & BullConnection)[];
  readonly #queue: Queue;
  readonly #worker: Worker;
  readonly #jobs = new Map<string, { readonly intervalMs: number; readonly job: Job }>();
  readonly #closing = new AbortController();
  readonly #renewal: Promise<void>;

  constructor({ slotTag, connect, clock, observer, onError }: BullSchedulerOptions) {
    this.#clock = clock;
    this.#runner = new JobRunner(clock, observer);
    this.#onError = onError;
    const forQueue = connect();
    const forWorker = connect();
    this.#connections = [forQueue, forWorker];
    const prefix = `{${slotTag}}:jobs`;
    this.#queue = new Queue(QUEUE_NAME, { connection: forQueue, prefix });
    this.#worker = new Worker(QUEUE_NAME, ({ name }) => this.#run(name), {
      connection: forWorker,
      prefix,
    });
    this.#queue.on('error', onError);
    this.#worker.on('error', onError);
    this.#renewal = this.#renewSchedule();
  }

  async every(name: string, intervalMs: number, job: Job): Promise<void> {
    this.#jobs.set(name, { intervalMs, job });
    // One slow job must not keep the others from running.
    this.#worker.concurrency = this.#jobs.size;
    await this.#schedule(name, intervalMs);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#worker.close();
    await this.#runner.idle();
    await this.#renewal;
    await this.#queue.close();
    for (const connection of this.#connections) connection.disconnect();
  }

  /** A name that is not known here belongs to a newer or older version: its own workers run it. */
  async #run(name: string): Promise<void> {
    const known = this.#jobs.get(name);
    if (known !== undefined) await this.#runner.run(name, known.job);
  }

  /** Harmless for a schedule that is there: its runs lie at whole multiples of the interval. */
  async #schedule(name: string, intervalMs: number): Promise<void> {
    const opts = {
      removeOnComplete: { count: JOBS_KEPT },
      removeOnFail: { count: JOBS_KEPT },
    };
    await this.#queue.upsertJobScheduler(name, { every: intervalMs }, { name, opts });
  }

  async #renewSchedule(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#clock.sleep(RENEW_INTERVAL_MS, signal);
      for (const [name, { intervalMs }] of this.#jobs) {
        if (signal.aborted) return;
        await this.#schedule(name, intervalMs).catch(this.#onError);
      }
    }
  }
}
