/**
 * Ready answers, kept for about a second.
 *
 * By age of an answer, counted from the moment before it was read:
 *   up to FRESH_MS (less a jitter, so that popular answers do not all expire together)  served
 *   up to USABLE_MS          served, while one refresh runs in the background
 *   older                    the caller waits for the refresh
 *   up to `maxStaleMs`       served, marked `stale`, only when the store cannot be read
 * So an answer is never more than USABLE_MS old while the store is there. However many ask at
 * once, one of them reads.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Prng } from '../lib/prng.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';

const FRESH_MS = 700;
const JITTER_MS = 200;
export const USABLE_MS = 1000;
/** What an entry takes beside its body. */
const ENTRY_OVERHEAD_BYTES = 300;
const STALE_MARK = Buffer.from(',"stale":true}');

export interface AnswerQuery {
  /** All that the answer is about. */
  readonly streams: readonly string[];
  /** The same text for the same question. */
  readonly key: string;
}

/** How an answer was come by: for the metrics. */
export type CacheResult = 'hit' | 'miss' | 'stale';

export interface AnswerCacheOptions {
  readonly clock: Clock;
  /** For the jitter. */
  readonly prng: Prng;
  readonly maxBytes: number;
  readonly maxStaleMs: number;
  readonly onResult: (result: CacheResult) => void;
}

interface Entry {
  readonly streams: readonly string[];
  readonly body: Buffer;
  readonly readAtMs: number;
  readonly freshUntilMs: number;
  /** The last attempt to refresh it found the store gone: do not let callers wait for the next. */
  hasFailed: boolean;
}

/** A read under way, and whether its answer may still be kept. */
interface Flight {
  readonly streams: readonly string[];
  readonly body: Promise<Buffer>;
  readonly ticket: { isDropped: boolean };
}

export class AnswerCache {
  readonly #options: AnswerCacheOptions;
  readonly #entries: LRUCache<string, Entry>;
  readonly #flights = new Map<string, Flight>();

  constructor(options: AnswerCacheOptions) {
    this.#options = options;
    this.#entries = new LRUCache({
      maxSize: options.maxBytes,
      sizeCalculation: (entry, key) => entry.body.length + key.length * 2 + ENTRY_OVERHEAD_BYTES,
    });
  }

  get bytes(): number {
    return this.#entries.calculatedSize;
  }

  /**
   * The JSON of an answer. `read` makes the object anew.
   *
   * @throws whatever `read` throws, unless an old answer can be served in its place
   */
  async get(query: AnswerQuery, read: () => Promise<object>): Promise<Buffer> {
    const { clock, maxStaleMs, onResult } = this.#options;
    const entry = this.#entries.get(query.key);
    const nowMs = clock.nowMs();
    // A negative age: the clock was set back, and nothing can be said about the answer's age.
    const ageMs = entry === undefined ? -1 : nowMs - entry.readAtMs;
    if (entry !== undefined && ageMs >= 0 && nowMs < entry.freshUntilMs) {
      onResult('hit');
      return entry.body;
    }
    const refreshed = this.#refresh(query, read);
    if (entry === undefined || ageMs < 0) {
      onResult('miss');
      return refreshed;
    }
    const canServeStale = ageMs <= maxStaleMs;
    if (ageMs <= USABLE_MS || (entry.hasFailed && canServeStale)) {
      // Nobody waits for this refresh; what it meets is noted in the entry.
      refreshed.catch(() => undefined);
      onResult(entry.hasFailed ? 'stale' : 'hit');
      return entry.hasFailed ? markedStale(entry.body) : entry.body;
    }
    try {
      const body = await refreshed;
      onResult('miss');
      return body;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || !canServeStale) throw error;
      onResult('stale');
      return markedStale(entry.body);
    }
  }

  /** Forgets a stream's answers, those that are being read included. */
  drop(stream: string): void {
    for (const [key, entry] of this.#entries.entries()) {
      if (entry.streams.includes(stream)) this.#entries.delete(key);
    }
    for (const [key, flight] of this.#flights) {
      if (!flight.streams.includes(stream)) continue;
      flight.ticket.isDropped = true;
      this.#flights.delete(key);
    }
  }

  #refresh(query: AnswerQuery, read: () => Promise<object>): Promise<Buffer> {
    const running = this.#flights.get(query.key);
    if (running !== undefined) return running.body;
    const ticket = { isDropped: false };
    const body = this.#read(query, read, ticket);
    const flight: Flight = { streams: query.streams, body, ticket };
    this.#flights.set(query.key, flight);
    const settle = (): void => {
      if (this.#flights.get(query.key) === flight) this.#flights.delete(query.key);
    };
    body.then(settle, settle);
    return body;
  }

  async #read(
    { streams, key }: AnswerQuery,
    read: () => Promise<object>,
    ticket: Flight['ticket'],
  ): Promise<Buffer> {
    const { clock, prng } = this.#options;
    const readAtMs = clock.nowMs();
    const before = this.#entries.peek(key);
    try {
      const body = Buffer.from(JSON.stringify(await read()));
      const freshUntilMs = readAtMs + FRESH_MS - prng.nextInt(JITTER_MS);
      if (!ticket.isDropped) {
        this.#entries.set(key, { streams, body, readAtMs, freshUntilMs, hasFailed: false });
      }
      return body;
    } catch (error) {
      if (before !== undefined) before.hasFailed = error instanceof StoreUnavailableError;
      throw error;
    }
  }
}

/** The body is a JSON object with at least one member. */
function markedStale(body: Buffer): Buffer {
  return Buffer.concat([body.subarray(0, -1), STALE_MARK]);
}
