import type { Clock } from '../../src/lib/clock.ts';
import type { Prng } from '../../src/lib/prng.ts';
import type { Tag } from '../../src/lib/random-tag.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import {
  type MemoryPartition,
  type MemoryStoreOptions,
  MemoryStreamStore,
} from '../../src/store/memory/memory-stream-store.ts';
import type {
  AppendOutcome,
  AppendRequest,
  LogEntry,
  NewPart,
  StreamStore,
} from '../../src/streams/store-port.ts';
import type { Turns } from './turns.ts';

/** What is taken out of the store, so that a simulation can be seen to notice. */
export type Canary = 'none' | 'fold_without_tag_check' | 'compaction_without_presence_check';

/** How far a promoted replica's clock can be behind. */
const CLOCK_SKEW_MAX_MS = 30_000;
/** How many of a partition's past states a replica can be behind. */
const COPIES_MAX = 12;

/**
 * The memory store with replicas: after each write of a partition its state is kept, and a failover
 * goes back to one of the last states; but, as TALLY_ACK_REPLICAS promises, never behind a write
 * that was acknowledged.
 */
export class ReplicatedStore extends MemoryStreamStore {
  readonly #canary: Canary;
  readonly #prng: Prng;
  readonly #clock: SkewedClock;
  readonly #copies: MemoryPartition[][] = [];

  constructor(options: MemoryStoreOptions, prng: Prng, canary: Canary) {
    const clock = new SkewedClock(options.clock);
    super({ ...options, clock });
    this.#clock = clock;
    this.#prng = prng;
    this.#canary = canary;
  }

  /** To be called after each write; `acknowledged` writes survive every failover. */
  wrote(partition: number, acknowledged: boolean): void {
    const copies = (this.#copies[partition] ??= [this.partitions[partition]!.copy()]);
    if (acknowledged) copies.length = 0;
    copies.push(this.partitions[partition]!.copy());
    if (copies.length > COPIES_MAX) copies.shift();
  }

  /** The replicas come a step closer. */
  replicate(partition: number): void {
    const copies = this.#copies[partition];
    if (copies !== undefined && copies.length > 1) copies.shift();
  }

  /** Goes back to a copy that lags by any number of unacknowledged writes. */
  failOver(partition: number): void {
    this.#clock.skewMs = this.#prng.nextInt(CLOCK_SKEW_MAX_MS);
    const copies = this.#copies[partition];
    if (copies === undefined) return;
    copies.length = 1 + this.#prng.nextInt(copies.length);
    this.partitions[partition] = copies.at(-1)!.copy();
  }

  protected override isSameEntry(entry: LogEntry | undefined, tag: Tag): boolean {
    if (this.#canary === 'fold_without_tag_check') return entry !== undefined;
    return super.isSameEntry(entry, tag);
  }

  protected override areOpen(parts: ReadonlyMap<Tag, NewPart>, tags: readonly Tag[]): boolean {
    if (this.#canary === 'compaction_without_presence_check') return true;
    return super.areOpen(parts, tags);
  }
}

/** The clock of the primary of now: behind the others', so that ids come round again. */
class SkewedClock implements Clock {
  skewMs = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowMs(): number {
    return this.#clock.nowMs() - this.skewMs;
  }

  elapsedMs(): number {
    return this.#clock.elapsedMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(ms, signal);
  }
}

export interface FaultRates {
  /** A call does not reach the store. */
  readonly lostRequest: number;
  /** A call is carried out, but its answer is lost. */
  readonly lostAnswer: number;
  /** The same for writes while a primary dies: it still takes them, nobody hears of it. */
  readonly lostWriteAnswer: number;
  /** A call is carried out twice, as a client that resends does. */
  readonly resent: number;
  /** The process ends before or after a call. */
  readonly crash: number;
}

export const NO_FAULTS: FaultRates = {
  lostRequest: 0,
  lostAnswer: 0,
  lostWriteAnswer: 0,
  resent: 0,
  crash: 0,
};

/**
 * One process's connection to the store. Every call waits for its turn, so that calls of different
 * processes interleave in any order, and may fail. After a crash nothing comes back any more.
 */
export class Connection {
  readonly crashed: Promise<'crashed'>;
  isAlive = true;
  lostAnswers = 0;
  #announceCrash: () => void = () => {};
  readonly #store: ReplicatedStore;
  readonly #turns: Turns;
  readonly #prng: Prng;
  readonly #rates: () => FaultRates;

  constructor(store: ReplicatedStore, turns: Turns, prng: Prng, rates: () => FaultRates) {
    this.#store = store;
    this.#turns = turns;
    this.#prng = prng;
    this.#rates = rates;
    this.crashed = new Promise((resolve) => {
      this.#announceCrash = () => resolve('crashed');
    });
  }

  crash(): void {
    this.isAlive = false;
    this.#announceCrash();
  }

  /** The port, as this process sees it. */
  port(): StreamStore {
    const store = this.#store;
    const read = <Result>(run: () => Promise<Result>): Promise<Result> => this.#call(run, null);
    const write = <Result>(partition: number, run: () => Promise<Result>): Promise<Result> =>
      this.#call(run, { partition, acknowledged: () => false });
    return {
      partitionCount: store.partitionCount,
      append: (partition, requests) => this.#append(partition, requests),
      readLog: (...args) => read(() => store.readLog(...args)),
      commitFold: (...args) => write(args[0], () => store.commitFold(...args)),
      readDueShares: (...args) => read(() => store.readDueShares(...args)),
      cancelVisit: (...args) => write(args[0], () => store.cancelVisit(...args)),
      commitCompaction: (...args) => write(args[0], () => store.commitCompaction(...args)),
      readIndex: (...args) => read(() => store.readIndex(...args)),
      readSummaries: (...args) => read(() => store.readSummaries(...args)),
      readParts: (...args) => read(() => store.readParts(...args)),
      listShares: (...args) => read(() => store.listShares(...args)),
      deleteShare: (partition, ...rest) =>
        this.#call(() => store.deleteShare(partition, ...rest), {
          partition,
          acknowledged: () => true,
        }),
      dropStaleSummaries: (...args) => write(args[0], () => store.dropStaleSummaries()),
      readStats: (...args) => read(() => store.readStats(...args)),
    };
  }

  async #append(partition: number, requests: readonly AppendRequest[]): Promise<AppendOutcome[]> {
    try {
      return await this.#call(() => this.#store.append(partition, requests), {
        partition,
        acknowledged: (answerArrives) => answerArrives,
      });
    } catch (error) {
      if (error instanceof LostAnswer) throw new OutcomeUnknownError('the answer was lost');
      throw error;
    }
  }

  async #call<Result>(
    run: () => Promise<Result>,
    write: { partition: number; acknowledged: (answerArrives: boolean) => boolean } | null,
  ): Promise<Result> {
    await this.#turns.wait();
    const rates = this.#rates();
    const prng = this.#prng;
    if (prng.chance(rates.crash)) this.crash();
    if (!this.isAlive) return await never();
    if (prng.chance(rates.lostRequest)) throw new StoreUnavailableError('the store is away');
    const lost = write === null ? rates.lostAnswer : rates.lostWriteAnswer;
    const answerArrives = !prng.chance(lost);
    const result = await run();
    const again = prng.chance(rates.resent) ? await run() : result;
    if (write !== null) this.#store.wrote(write.partition, write.acknowledged(answerArrives));
    await this.#turns.wait();
    if (prng.chance(rates.crash)) this.crash();
    if (!this.isAlive) return await never();
    if (!answerArrives) {
      this.lostAnswers += 1;
      throw write === null ? new StoreUnavailableError('the store is away') : new LostAnswer();
    }
    return again;
  }
}

class LostAnswer extends StoreUnavailableError {}

/** What a process that has ended is told. */
function never(): Promise<never> {
  return new Promise(() => {});
}
