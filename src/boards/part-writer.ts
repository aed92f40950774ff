/**
 * Sends requests to the parts of boards. What waits for a part while calls to it are under way
 * travels with the next one: natural batching, no timer.
 */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import type { KnownBoard } from './board-registry.ts';
import { currentSeasons } from './board-seasons.ts';
import { ENTRIES_MAX } from './limits.ts';
import type {
  BoardStore,
  PartRequest,
  Refusal,
  RequestOutcome,
  SeasonAt,
  WriteOutcome,
} from './store-port.ts';

/** While Redis works on one call the next is made and sent. */
const CALLS_IN_FLIGHT = 2;
const CLOCK_ATTEMPTS = 3;

export type PartOutcome = RequestOutcome | Refusal;

interface Waiting {
  readonly board: KnownBoard;
  readonly request: PartRequest;
  readonly resolve: (outcome: PartOutcome) => void;
  readonly reject: (error: unknown) => void;
}

interface Queue {
  readonly waiting: Waiting[];
  inFlight: number;
}

export interface PartWriterOptions {
  readonly store: BoardStore;
  readonly clock: Clock;
  readonly tags: TagSource;
}

export class PartWriter {
  readonly #options: PartWriterOptions;
  readonly #queues = new Map<string, Queue>();
  /** How far the store's clock is ahead of this process's, as far as it mattered. */
  #aheadMs = 0;

  constructor(options: PartWriterOptions) {
    this.#options = options;
  }

  /** The current time as the store sees it, as far as is known. */
  nowMs(): number {
    return this.#options.clock.nowMs() + this.#aheadMs;
  }

  send(board: KnownBoard, part: string, request: PartRequest): Promise<PartOutcome> {
    return new Promise((resolve, reject) => {
      let queue = this.#queues.get(part);
      if (queue === undefined) {
        queue = { waiting: [], inFlight: 0 };
        this.#queues.set(part, queue);
      }
      queue.waiting.push({ board, request, resolve, reject });
      this.#pump(part, queue);
    });
  }

  #pump(part: string, queue: Queue): void {
    while (queue.inFlight < CALLS_IN_FLIGHT && queue.waiting.length > 0) {
      const batch = takeBatch(queue.waiting);
      queue.inFlight += 1;
      void this.#call(part, batch).finally(() => {
        queue.inFlight -= 1;
        if (queue.inFlight === 0 && queue.waiting.length === 0) this.#queues.delete(part);
        else this.#pump(part, queue);
      });
    }
  }

  async #call(part: string, batch: readonly Waiting[]): Promise<void> {
    try {
      const requests = batch.map(({ request }) => request);
      const outcome = await this.#write(part, batch[0]!.board, requests);
      for (const [index, { resolve }] of batch.entries()) {
        resolve(outcome.kind === 'written' ? outcome.requests[index]! : outcome);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async #write(
    part: string,
    board: KnownBoard,
    requests: readonly PartRequest[],
  ): Promise<WriteOutcome> {
    const { store, clock, tags } = this.#options;
    const { layout, settings } = board.document;
    const at = {
      ...{ part, epoch: layout.epoch },
      rules: { mode: settings.mode, ties: settings.ties },
    };
    const callId = tags();
    for (let attempt = 0; attempt < CLOCK_ATTEMPTS; attempt += 1) {
      const seasons: SeasonAt[] = currentSeasons(board, this.nowMs());
      const outcome = await store.write(at, { callId, seasons, requests });
      if (outcome.kind !== 'other_season') return outcome;
      this.#aheadMs = outcome.nowMs - clock.nowMs();
    }
    throw new StoreUnavailableError('the clocks of Redis and of this process run apart');
  }
}

/** What can travel together: requests that know the same document, up to so many entries. */
function takeBatch(waiting: Waiting[]): Waiting[] {
  const first = waiting[0]!;
  let entries = 0;
  let count = 0;
  for (const { board, request } of waiting) {
    entries += request.entries.length;
    if (count > 0 && (board !== first.board || entries > ENTRIES_MAX)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
