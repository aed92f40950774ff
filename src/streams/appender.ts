/**
 * Natural batching: while one append to a partition is under way, what arrives waits and goes with
 * the next one. No timer: an idle partition appends at once, a busy one in larger steps.
 */
import { assert } from '../lib/assert.ts';
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../lib/store-errors.ts';
import type { BatchBuilder } from './batch.ts';
import { IngestRefusedError } from './ingest-errors.ts';
import {
  APPEND_BYTES_MAX,
  APPEND_QUEUE_BYTES_MAX,
  APPEND_REPEAT_PAUSE_MS,
  APPEND_REPEATS_MAX,
  APPEND_REQUESTS_MAX,
  SHARED_BATCH_EVENTS_MAX,
} from './limits.ts';
import type { AppendOutcome, AppendRequest, StreamStore } from './store-port.ts';

export interface AppenderOptions {
  readonly store: StreamStore;
  readonly partition: number;
  readonly clock: Clock;
  readonly tags: TagSource;
}

interface Waiter {
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** One request of a coming append, and everybody who waits for it. */
interface Pending {
  readonly request: AppendRequest;
  readonly waiters: readonly Waiter[];
}

/** Small batches without a key that wait at the same moment: they become one request. */
interface Shared {
  readonly builder: BatchBuilder;
  readonly waiters: Waiter[];
}

export class Appender {
  readonly #options: AppenderOptions;
  #queue: Pending[] = [];
  #queueBytes = 0;
  #shared: Shared | null = null;
  #isRunning = false;

  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  /** A batch with a client's key: it stays a request of its own. */
  appendKeyed(request: AppendRequest): Promise<AppendOutcome> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ request, waiters: [{ resolve, reject }] });
      this.#start();
    });
  }

  /** A batch without a key: resolves when it is in the store. Takes the builder over. */
  async appendShared(builder: BatchBuilder): Promise<void> {
    const outcome = await new Promise<AppendOutcome>((resolve, reject) => {
      this.#share(builder, { resolve, reject });
      this.#start();
    });
    if (outcome.kind === 'backlog_full' || outcome.kind === 'ids_full') {
      throw new IngestRefusedError(outcome.kind);
    }
    assert(outcome.kind === 'applied', 'an id made here is used for one batch only');
  }

  #share(builder: BatchBuilder, waiter: Waiter): void {
    const shared = this.#shared;
    const eventCount = (shared?.builder.eventCount ?? 0) + builder.eventCount;
    if (shared !== null && eventCount <= SHARED_BATCH_EVENTS_MAX) {
      shared.builder.merge(builder);
      shared.waiters.push(waiter);
      return;
    }
    this.#sealShared();
    this.#shared = { builder, waiters: [waiter] };
  }

  /** What is shared so far becomes a request; the next batch begins a new one. */
  #sealShared(): void {
    if (this.#shared === null) return;
    const { builder, waiters } = this.#shared;
    this.#shared = null;
    const { tags } = this.#options;
    const blob = builder.encode();
    this.#enqueue({
      request: {
        idSource: 'server',
        id: tags() + tags(),
        fingerprint: '',
        attempt: tags(),
        answer: '',
        blob,
      },
      waiters,
    });
  }

  #enqueue(pending: Pending): void {
    const bytes = bytesOf(pending.request);
    if (this.#queueBytes + bytes > APPEND_QUEUE_BYTES_MAX) {
      for (const waiter of pending.waiters) waiter.resolve({ kind: 'backlog_full' });
      return;
    }
    this.#queueBytes += bytes;
    this.#queue.push(pending);
  }

  #start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    // One turn later everything that arrived in this moment is there, and goes together.
    await Promise.resolve();
    while (this.#queue.length > 0 || this.#shared !== null) await this.#append(this.#take());
    // In the same turn as the last look at the queue: whoever comes later starts anew.
    this.#isRunning = false;
  }

  /** The head of the queue, as much as one append carries; what is shared so far comes last. */
  #take(): Pending[] {
    const { length } = this.#queue;
    if (length < APPEND_REQUESTS_MAX && this.#queueBytes < APPEND_BYTES_MAX) this.#sealShared();
    let bytes = 0;
    let count = 0;
    for (const { request } of this.#queue) {
      bytes += bytesOf(request);
      if (count > 0 && (bytes > APPEND_BYTES_MAX || count === APPEND_REQUESTS_MAX)) break;
      count += 1;
    }
    const taken = this.#queue.slice(0, count);
    this.#queue = this.#queue.slice(count);
    for (const { request } of taken) this.#queueBytes -= bytesOf(request);
    return taken;
  }

  async #append(taken: readonly Pending[]): Promise<void> {
    if (taken.length === 0) return;
    try {
      const outcomes = await this.#appendUntilKnown(taken.map(({ request }) => request));
      for (const [index, { waiters }] of taken.entries()) {
        for (const waiter of waiters) waiter.resolve(outcomes[index]!);
      }
    } catch (error) {
      for (const { waiters } of taken) {
        for (const waiter of waiters) waiter.reject(error);
      }
    }
  }

  /**
   * Repeats an append whose outcome is unknown in the same partition with the same ids; whatever
   * was applied the first time is found by its id. Once an outcome was unknown, a store that is
   * gone afterwards does not make it known.
   */
  async #appendUntilKnown(requests: readonly AppendRequest[]): Promise<AppendOutcome[]> {
    const { store, partition, clock } = this.#options;
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await store.append(partition, requests);
      } catch (error) {
        const isUnknown = error instanceof OutcomeUnknownError;
        if (!isUnknown && !(error instanceof StoreUnavailableError && repeats > 0)) throw error;
        if (repeats === APPEND_REPEATS_MAX) {
          throw isUnknown ? error : new OutcomeUnknownError(error.message, { cause: error });
        }
        await clock.sleep(APPEND_REPEAT_PAUSE_MS * 2 ** repeats);
      }
    }
  }
}

/** What a request holds: where every event was rejected, its answer is all there is. */
function bytesOf({ blob, answer }: AppendRequest): number {
  return blob.length + answer.length;
}
