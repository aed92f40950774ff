import type { Hash } from 'node:crypto';
import type { TallyClient } from '../../client/tally-client.ts';
import { TallyError } from '../../client/tally-error.ts';
import type { SendAnswer } from '../../client/types.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import { HOUR_MS } from '../../streams/buckets.ts';
import {
  advance,
  batchKey,
  batchSizes,
  bodyEvents,
  CELL_EVENTS,
  type Cell,
  type KeyBasis,
  type StreamChain,
} from './chain.ts';
import { Pacer } from './pacer.ts';
import { type ImportEvent, InputError } from './parsed-line.ts';

/** A server that restarts or is full answers 503 for a while; after this many tries it is down. */
const SEND_ATTEMPTS = 10;
/** Keys are remembered for a day by default; twice that covers clocks and longer settings. */
const SHIFT_SEARCH_HOURS = 48;
/** So that under `eventsPerSecond` events trickle instead of coming in bursts. */
const BATCHES_PER_SECOND = 4;

export interface SendTotals {
  accepted: number;
  /** Counted by an earlier run (or try) of this import. */
  duplicate: number;
  rejected: number;
  /** By the server's code; it names at most its first errors of a batch. */
  readonly rejectedByCode: Map<string, number>;
  /** Read but not sent, because the import was stopped. */
  unsent: number;
}

export interface SendOptions {
  /** What `--now` asks for; null without it. */
  readonly shiftMs: number | null;
  /** Null: as fast as the server takes them. */
  readonly eventsPerSecond: number | null;
  readonly clock: Clock;
  /** No batch begins any more under `eventsPerSecond`; without it, what is read is sent. */
  readonly stop: AbortSignal;
  /** Ends what is in flight. */
  readonly cutOff: AbortSignal;
}

/** What became of one batch. */
type Outcome = 'taken' | 'other_body' | 'too_large';

/**
 * Sends cells, each event exactly once: see chain.ts for the keys. A chain's first event goes
 * alone and before everything else of its chain. It settles the chain's shift: if the server
 * knows its key with another body, the import was begun earlier, when the same log was shifted by
 * other hours, and the shift whose body the server knows is the one to go on with.
 */
export class CellSender {
  readonly #client: TallyClient;
  readonly #options: SendOptions;
  readonly #pacer: Pacer | null;
  readonly #batchMax: number;
  readonly #firstSent = new Map<StreamChain, Promise<number>>();
  readonly totals: SendTotals = {
    accepted: 0,
    duplicate: 0,
    rejected: 0,
    rejectedByCode: new Map(),
    unsent: 0,
  };
  /** Shifts that were found instead of the one given, by stream. */
  readonly foundShiftMs = new Map<string, number>();

  constructor(client: TallyClient, options: SendOptions) {
    const { eventsPerSecond, clock } = options;
    this.#client = client;
    this.#options = options;
    this.#pacer = eventsPerSecond === null ? null : new Pacer(eventsPerSecond, clock);
    this.#batchMax =
      eventsPerSecond === null ? CELL_EVENTS : Math.max(eventsPerSecond / BATCHES_PER_SECOND, 1);
  }

  /**
   * Sends all of a cell that is as full as it will get. Rejects with TallyError when the server
   * cannot be reached or refuses a batch as a whole.
   */
  async send(cell: Cell): Promise<void> {
    if (cell.isFirst) {
      const settled = this.#settleShift(cell);
      this.#firstSent.set(cell.chain, settled);
      await settled;
      return;
    }
    const sentCount = await this.#sendFrom(cell, true);
    this.totals.unsent += cell.events.length - sentCount;
  }

  /**
   * Sends of a cell that may still grow, and returns how many of its first events need not be
   * sent again. The rest may be the beginning of a batch that an earlier run sent: that shows
   * only when more of it is there.
   */
  sendUnfinished(cell: Cell): Promise<number> {
    return this.#sendFrom(cell, false);
  }

  async #sendFrom(cell: Cell, isFinished: boolean): Promise<number> {
    const settled = this.#firstSent.get(cell.chain);
    assert(settled !== undefined, 'the first cell of a chain is sent first');
    const shiftMs = await settled;
    let { hash } = cell;
    let sentCount = 0;
    while (sentCount < cell.events.length) {
      const events = cell.events.slice(sentCount);
      const size = await this.#sendSome(cell.chain.stream, hash, events, shiftMs, isFinished);
      if (size === 0) break;
      hash = advance(hash, events.slice(0, size));
      sentCount += size;
    }
    return sentCount;
  }

  async #settleShift({ chain: { stream }, hash, events }: Cell): Promise<number> {
    const askedMs = this.#options.shiftMs;
    if (askedMs === null) {
      await this.#sendSome(stream, hash, events, 0, true);
      return 0;
    }
    const key = batchKey(hash, events, 'first event');
    for (const shiftMs of shiftsAround(askedMs)) {
      const outcome = await this.#sendBatch(stream, events, shiftMs, key);
      if (outcome === 'taken') {
        if (shiftMs !== askedMs) this.foundShiftMs.set(stream, shiftMs);
        return shiftMs;
      }
    }
    throw new InputError(
      `stream ${JSON.stringify(stream)} knows this file under a clock that cannot be found; ` +
        'import it under a --label of its own to count it again',
    );
  }

  /** Sends a batch from the front and returns its size; 0 when it cannot or must not be sent. */
  async #sendSome(
    stream: string,
    hash: Hash,
    events: readonly ImportEvent[],
    shiftMs: number,
    isFinished: boolean,
  ): Promise<number> {
    const sizes = batchSizes(events.length, this.#batchMax);
    await this.#pacer?.take(sizes[0] ?? 1, this.#options.stop);
    if (this.#pacer !== null && this.#options.stop.aborted) return 0;
    for (const basis of basesFor(events, isFinished)) {
      for (const size of sizes) {
        const batch = events.slice(0, size);
        const key = batchKey(hash, batch, basis);
        const outcome = await this.#sendBatch(stream, batch, shiftMs, key);
        if (outcome === 'taken') return size;
        // The same content was sent before, in other words: it is counted already.
        if (basis === 'content' && outcome === 'other_body') {
          this.totals.duplicate += size;
          return size;
        }
      }
    }
    if (isFinished) throw new InputError('the server takes no event of this size');
    return 0;
  }

  async #sendBatch(
    stream: string,
    events: readonly ImportEvent[],
    shiftMs: number,
    idempotencyKey: string,
  ): Promise<Outcome> {
    try {
      const answer = await this.#client.sendEvents(bodyEvents(stream, events, shiftMs), {
        idempotencyKey,
        attempts: SEND_ATTEMPTS,
        signal: this.#options.cutOff,
      });
      this.#count(answer);
      return 'taken';
    } catch (error) {
      if (!(error instanceof TallyError)) throw error;
      if (error.code === 'key_reused') return 'other_body';
      if (error.status === 413) return 'too_large';
      throw error;
    }
  }

  #count(answer: SendAnswer): void {
    this.totals.accepted += answer.accepted;
    this.totals.duplicate += answer.duplicate;
    this.totals.rejected += answer.rejected;
    for (const { code } of answer.errors) {
      this.totals.rejectedByCode.set(code, (this.totals.rejectedByCode.get(code) ?? 0) + 1);
    }
  }
}

/**
 * Where no batch that begins here is known by its first event, another input began the same way
 * and went on differently. Only a finished cell can tell that from a batch that was longer.
 */
function basesFor(events: readonly ImportEvent[], isFinished: boolean): readonly KeyBasis[] {
  if (events.some((event) => event.atMs === undefined)) return ['content'];
  return isFinished ? ['first event', 'content'] : ['first event'];
}

/** The shift asked for first, then the hours around it, nearest first, earlier before later. */
function* shiftsAround(askedMs: number): Generator<number> {
  yield askedMs;
  for (let hours = 1; hours <= SHIFT_SEARCH_HOURS; hours += 1) {
    yield askedMs - hours * HOUR_MS;
    yield askedMs + hours * HOUR_MS;
  }
}
