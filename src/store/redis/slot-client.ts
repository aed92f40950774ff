import type { Redis } from 'ioredis';
import type { Clock } from '../../lib/clock.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../lib/store-errors.ts';
import type { NodeRouter } from './node-router.ts';
import { isErrorReply } from './replies.ts';

/** Error replies that were given before anything was done, for a reason that passes. */
const PASSING_ERRORS = new Set([
  ...['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN', 'LOADING', 'MASTERDOWN', 'READONLY', 'BUSY'],
]);

export type NodeRequest<T> = (node: Redis) => Promise<T>;

const FIRST_PAUSE_MS = 10;
const PAUSE_MAX_MS = 200;

/**
 * Sends requests to the node that owns a slot, again and again until it answers or the time is
 * over. Every request must be harmless to repeat.
 *
 * While a slot is moved to another node, its keys lie on both, and scripts are refused by both:
 * ASK and TRYAGAIN are waited out like a failover.
 */
export class SlotClient {
  readonly #router: NodeRouter;
  readonly #clock: Clock;
  readonly #retryForMs: number;
  #isClosed = false;

  constructor(router: NodeRouter, clock: Clock, retryForMs: number) {
    this.#router = router;
    this.#clock = clock;
    this.#retryForMs = retryForMs;
  }

  /**
   * `request` sends to the node it is given and rejects with what went wrong there.
   * Rejects with StoreUnavailableError: the caller does not care whether it was applied.
   */
  async send<T>(slot: number, request: NodeRequest<T>): Promise<T> {
    try {
      return await this.sendWrite(slot, request);
    } catch (error) {
      if (error instanceof OutcomeUnknownError) {
        throw new StoreUnavailableError(error.message, { cause: error.cause });
      }
      throw error;
    }
  }

  /**
   * The same for a write whose fate matters: StoreUnavailableError only if nothing can have been
   * applied, OutcomeUnknownError if it was sent and its reply never came.
   */
  async sendWrite<T>(slot: number, request: NodeRequest<T>): Promise<T> {
    const deadlineMs = this.#clock.nowMs() + this.#retryForMs;
    let pauseMs = FIRST_PAUSE_MS;
    let mayBeApplied = false;
    let lastError: unknown;
    for (;;) {
      const node = this.#isClosed ? null : this.#router.nodeFor(slot);
      if (node !== null) {
        try {
          return await request(node);
        } catch (error) {
          lastError = error;
          if (error instanceof OutcomeUnknownError) {
            throw error;
          }
          const isReply = isErrorReply(error);
          mayBeApplied ||= !isReply;
          if (isReply && !PASSING_ERRORS.has(firstWord(error))) {
            throw failure(mayBeApplied, error);
          }
        }
      }
      if (this.#isClosed || this.#clock.nowMs() + pauseMs > deadlineMs) {
        throw failure(mayBeApplied, lastError);
      }
      this.#router.refresh();
      await this.#clock.sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
    }
  }

  /** Cuts the connections; requests that wait or come later are refused. */
  close(): void {
    this.#isClosed = true;
    this.#router.close();
  }
}

function firstWord(error: Error): string {
  return error.message.split(' ', 1)[0] ?? '';
}

/** ioredis hangs the whole command on its errors; batches must not get into logs that way. */
function failure(mayBeApplied: boolean, error: unknown): Error {
  const reason = error instanceof Error ? error.message : 'not connected';
  const options = { cause: new Error(reason) };
  return mayBeApplied
    ? new OutcomeUnknownError(`Redis did not answer: ${reason}`, options)
    : new StoreUnavailableError(`Redis is not available: ${reason}`, options);
}
