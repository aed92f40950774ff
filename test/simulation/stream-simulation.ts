import { ManualClock } from '../../src/lib/clock.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { MemoryRegistryStore } from '../../src/store/memory/memory-registry-store.ts';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, type Retention } from '../../src/streams/buckets.ts';
import type { EventIngest } from '../../src/streams/ingest.ts';
import { IngestRefusedError } from '../../src/streams/ingest-errors.ts';
import type { StreamQueries } from '../../src/streams/queries.ts';
import type { StreamStore } from '../../src/streams/store-port.ts';
import { openStreamsRoom, type StreamsRoom } from '../../src/streams/streams-room.ts';
import { WINDOW_MAX_MS } from '../../src/streams/window.ts';
import { type AuditedEvent, Auditor } from './auditor.ts';
import {
  type Canary,
  Connection,
  type FaultRates,
  NO_FAULTS,
  ReplicatedStore,
} from './faulty-store.ts';
import { settle, Turns } from './turns.ts';

export const EVENTS_MIN = 200;
export const CRASHES_MIN = 20;
export const RETRIES_MIN = 5;

const RETENTION: Retention = { minute: 25 * HOUR_MS, hour: 32 * DAY_MS };
const START_MS = Date.UTC(2026, 10, 30, 21, 37);
const STEPS_MAX = 60_000;
const CONVERGENCE_TICKS_MAX = 40;
const ITEMS_MAX = 500;
const CLIENT_COUNT = 3;
const PROCESS_COUNT = 2;
/** Less than a key is remembered: a retry must come in time to be recognised. */
const JUMPS_SUM_MAX_MS = 22 * HOUR_MS;

export interface SimulationOptions {
  readonly canary?: Canary;
  /** One partition and batches of one event, most of them of one stream: many parts a minute. */
  readonly isFocused?: boolean;
}

export interface SimulationReport {
  readonly events: number;
  readonly crashes: number;
  readonly retries: number;
  readonly duplicates: number;
  readonly lostAnswers: number;
  readonly failovers: number;
  /** What the auditor found wrong, or null. */
  readonly violation: string | null;
}

interface Server {
  readonly connection: Connection;
  readonly ingest: EventIngest;
  readonly queries: StreamQueries;
}

class Violation extends Error {}

/** One run of the whole pipeline on one thread, all of it drawn from the seed. */
export async function simulate(
  seed: number,
  options: SimulationOptions = {},
): Promise<SimulationReport> {
  return await new Simulation(seed, options).run();
}

class Simulation {
  readonly #prng: Prng;
  readonly #clock: ManualClock;
  readonly #turns: Turns;
  readonly #store: ReplicatedStore;
  readonly #registryStore: MemoryRegistryStore;
  readonly #hash: KeyedHash;
  readonly #auditor = new Auditor();
  readonly #servers: Server[] = [];
  readonly #workers: Connection[] = [];
  /** Most that can have been counted for each stream and item, each batch sent counted once. */
  readonly #sent = new Map<string, number>();
  readonly #isFocused: boolean;
  readonly #batchEventsMax: number;
  readonly #usualRates: FaultRates;
  #rates: FaultRates;
  /** Steps until the primaries that are dying are replaced; 0 while they are well. */
  #stepsToFailover = 0;
  #isEnding = false;
  #events = 0;
  #batches = 0;
  #crashes = 0;
  #retries = 0;
  #duplicates = 0;
  #lostAnswers = 0;
  #failovers = 0;
  #jumpsSumMs = 0;
  /** The furthest the wall clock has ever been. */
  #latestMs = 0;

  constructor(seed: number, { canary = 'none', isFocused }: SimulationOptions) {
    this.#prng = new Prng(seed);
    const prng = this.#prng;
    this.#clock = new ManualClock(START_MS + prng.nextInt(DAY_MS));
    this.#turns = new Turns(prng);
    this.#hash = new KeyedHash({ k0: prng.nextUint32(), k1: prng.nextUint32() });
    this.#isFocused = isFocused ?? prng.chance(0.15);
    this.#batchEventsMax = this.#isFocused ? 1 : 2 + prng.nextInt(5);
    const lostAnswer = 0.02 + 0.18 * prng.nextFloat();
    this.#usualRates = {
      lostRequest: 0.05 * prng.nextFloat(),
      lostAnswer,
      lostWriteAnswer: lostAnswer,
      resent: 0.05 * prng.nextFloat(),
      crash: 0.02 + 0.03 * prng.nextFloat(),
    };
    this.#rates = this.#usualRates;
    const options = {
      partitionCount: this.#isFocused ? 1 : 1 + prng.nextInt(2),
      clock: this.#clock,
      tags: seededTags(prng),
      maxBacklogBytes: 2 ** 20,
      maxBacklogEntries: 200,
      clientIdTtlMs: DAY_MS,
      // As long as the clock can jump: an id must outlive the repetition it is there for.
      serverIdTtlMs: DAY_MS,
      maxRememberedIds: 10_000,
    };
    this.#store = new ReplicatedStore(options, prng, canary);
    this.#registryStore = new MemoryRegistryStore(options.tags);
  }

  async run(): Promise<SimulationReport> {
    let violation: string | null = null;
    try {
      await this.#runAll();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violation = error.message;
    }
    return {
      events: this.#events,
      crashes: this.#crashes,
      retries: this.#retries,
      duplicates: this.#duplicates,
      lostAnswers: this.#lostAnswers,
      failovers: this.#failovers,
      violation,
    };
  }

  async #runAll(): Promise<void> {
    for (let index = 0; index < PROCESS_COUNT; index += 1) {
      this.#servers.push(this.#startServer());
      this.#workers.push(this.#startWorker());
    }
    let running = CLIENT_COUNT + 1;
    const failures: Error[] = [];
    const follow = (work: Promise<void>): void => {
      work
        .catch((error: Error) => {
          failures.push(error);
        })
        .finally(() => {
          running -= 1;
        });
    };
    for (let index = 0; index < CLIENT_COUNT; index += 1) follow(this.#client(`own-${index}`));
    follow(this.#onlooker());
    for (let step = 0; running > 0; step += 1) {
      if (step === STEPS_MAX) throw new Violation('the clients do not come to an end');
      await this.#step();
      if (failures.length > 0) throw failures[0]!;
    }
    await this.#converge();
    await this.#audit();
  }

  /** One thing happens: a fault, time, or a step of somebody who waits for a turn. */
  async #step(): Promise<void> {
    await settle();
    const prng = this.#prng;
    this.#latestMs = Math.max(this.#latestMs, this.#clock.nowMs());
    this.#isEnding =
      this.#events >= EVENTS_MIN && this.#crashes >= CRASHES_MIN && this.#retries >= RETRIES_MIN;
    if (this.#isEnding) this.#rates = NO_FAULTS;
    else if (this.#stepsToFailover > 0) this.#die();
    else if (prng.chance(0.004)) this.#beginToDie();
    else if (prng.chance(0.002)) this.#jump();
    else if (prng.chance(0.1)) this.#store.replicate(prng.nextInt(this.#store.partitionCount));
    this.#restartCrashed();
    if (prng.chance(0.05)) await this.#clock.advance(prng.nextInt(300));
    if (!this.#turns.next()) await this.#clock.advance(50);
  }

  /** For some steps the primaries take writes that reach no replica and nobody hears of. */
  #beginToDie(): void {
    this.#stepsToFailover = 10 + this.#prng.nextInt(60);
    this.#rates = { ...this.#usualRates, lostWriteAnswer: 0.9 };
  }

  #die(): void {
    this.#stepsToFailover -= 1;
    if (this.#stepsToFailover > 0) return;
    this.#rates = this.#usualRates;
    this.#failovers += 1;
    for (let partition = 0; partition < this.#store.partitionCount; partition += 1) {
      this.#store.failOver(partition);
    }
  }

  /** The wall clock is set, mostly forward, now and then back. */
  #jump(): void {
    const back = this.#prng.chance(0.25);
    const jumpMs = back ? -this.#prng.nextInt(2 * HOUR_MS) : this.#prng.nextInt(6 * HOUR_MS);
    if (this.#jumpsSumMs + Math.abs(jumpMs) > JUMPS_SUM_MAX_MS) return;
    this.#jumpsSumMs += Math.abs(jumpMs);
    this.#clock.jumpTo(this.#clock.nowMs() + jumpMs);
  }

  #restartCrashed(): void {
    for (const [index, { connection }] of this.#servers.entries()) {
      if (connection.isAlive) continue;
      this.#ended(connection);
      this.#servers[index] = this.#startServer();
    }
    for (const [index, connection] of this.#workers.entries()) {
      if (connection.isAlive) continue;
      this.#ended(connection);
      this.#workers[index] = this.#startWorker();
    }
  }

  #ended(connection: Connection): void {
    this.#crashes += 1;
    this.#lostAnswers += connection.lostAnswers;
  }

  #connect(): Connection {
    return new Connection(this.#store, this.#turns, this.#prng, () => this.#rates);
  }

  #startServer(): Server {
    const connection = this.#connect();
    const { ingest, queries } = this.#openRoom(connection.port());
    return { connection, ingest, queries };
  }

  #startWorker(): Connection {
    const connection = this.#connect();
    void this.#work(this.#openRoom(connection.port()));
    return connection;
  }

  #openRoom(store: StreamStore): StreamsRoom {
    return openStreamsRoom({
      store,
      registryStore: this.#registryStore,
      maxStreams: 1_000,
      clock: this.#clock,
      tags: seededTags(this.#prng),
      hash: this.#hash,
      retention: RETENTION,
      maxFutureMs: MINUTE_MS,
      cacheBytes: 2 ** 24,
    });
  }

  async #work({ folder, compactor }: StreamsRoom): Promise<void> {
    for (;;) {
      const partition = this.#prng.nextInt(this.#store.partitionCount);
      await this.#clock.sleep(this.#prng.nextInt(2) * 100);
      try {
        await folder.foldPartition(partition);
        await compactor.compactPartition(partition);
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    }
  }

  async #client(ownStream: string): Promise<void> {
    while (!this.#isEnding) {
      await this.#turns.wait();
      if (this.#prng.chance(0.02)) await this.#delete(ownStream);
      else if (this.#prng.chance(0.85)) await this.#sendWithKey(ownStream);
      else await this.#sendOnce(ownStream);
    }
  }

  /** Sends until it is answered: the key makes repetitions harmless. */
  async #sendWithKey(ownStream: string): Promise<void> {
    const events = this.#makeEvents(ownStream, '');
    const idempotency = { id: this.#newId(), fingerprint: 'f' };
    const batch = { events, rejected: [], idempotency, strict: false };
    for (;;) {
      const { ingest, connection } = this.#anyServer();
      const answer = await this.#unlessLost(ingest.accept(batch), connection);
      if (answer !== null) {
        const rejected = new Set(answer.rejected.map(({ index }) => index));
        this.#auditor.acknowledge(events.filter(({ index }) => !rejected.has(index)));
        if (answer.duplicate > 0) this.#duplicates += 1;
        return;
      }
      this.#retries += 1;
      await this.#turns.wait();
    }
  }

  /** Sends once, without a key; whether a lost answer's batch counts is not known. */
  async #sendOnce(ownStream: string): Promise<void> {
    this.#batches += 1;
    const events = this.#makeEvents(ownStream, `-once-${this.#batches}`);
    const { ingest, connection } = this.#anyServer();
    const batch = { events, rejected: [], idempotency: null, strict: false };
    try {
      const answer = await Promise.race([ingest.accept(batch), connection.crashed]);
      if (answer === 'crashed') {
        this.#auditor.doubt(events);
        return;
      }
      const rejected = new Set(answer.rejected.map(({ index }) => index));
      this.#auditor.acknowledge(events.filter(({ index }) => !rejected.has(index)));
    } catch (error) {
      if (error instanceof OutcomeUnknownError) this.#auditor.doubt(events);
      else if (!isRefusal(error)) throw error;
    }
  }

  async #delete(stream: string): Promise<void> {
    for (;;) {
      const { queries, connection } = this.#anyServer();
      const done = await this.#unlessLost(
        queries.delete(stream).then(() => true),
        connection,
      );
      if (done !== null) break;
      await this.#turns.wait();
    }
    this.#auditor.delete(stream);
  }

  /** Reads all the time: nothing may ever be counted more often than it was sent. */
  async #onlooker(): Promise<void> {
    while (!this.#isEnding) {
      await this.#turns.wait();
      const { queries, connection } = this.#anyServer();
      const stream = this.#prng.pick(['shared', 'other']);
      const lengthMs = this.#prng.chance(0.03) ? WINDOW_MAX_MS : HOUR_MS;
      const window = { kind: 'trailing', lengthMs, untilMs: null } as const;
      const question = { stream, window, k: ITEMS_MAX };
      const answer = await this.#unlessLost(queries.top(question), connection);
      for (const { item, lower } of answer?.items ?? []) {
        if (lower > (this.#sent.get(`${stream}/${item}`) ?? 0)) {
          throw new Violation(`${item} was read as ${lower}: more than was sent`);
        }
      }
    }
  }

  /** Null when the answer did not come: the process ended, or the store was not to be reached. */
  async #unlessLost<Answer>(
    answer: Promise<Answer>,
    { crashed }: Connection,
  ): Promise<Answer | null> {
    try {
      const first = await Promise.race([answer, crashed]);
      return first === 'crashed' ? null : first;
    } catch (error) {
      if (isRefusal(error) || error instanceof OutcomeUnknownError) return null;
      throw error;
    }
  }

  #makeEvents(ownStream: string, suffix: string): AuditedEvent[] {
    const prng = this.#prng;
    const nowMs = this.#clock.nowMs();
    const count = 1 + prng.nextInt(this.#batchEventsMax);
    this.#events += count;
    return Array.from({ length: count }, (_, index) => {
      const anyStream = prng.pick(['shared', 'shared', 'shared', 'other', ownStream]);
      const stream = this.#isFocused && prng.chance(0.9) ? 'shared' : anyStream;
      // An item sent once only stands in its batch once, so that its fate can be told.
      const item = suffix === '' ? `item-${prng.nextInt(8)}` : `item${suffix}-${index}`;
      const actor = suffix === '' ? `actor-${prng.nextInt(20)}` : `actor${suffix}-${index}`;
      const event = {
        index,
        stream,
        item,
        actor,
        count: 1 + prng.nextInt(3),
        atMs: nowMs - this.#age(),
        dims: null,
      };
      const key = `${stream}/${item}`;
      this.#sent.set(key, (this.#sent.get(key) ?? 0) + event.count);
      return event;
    });
  }

  /** Mostly now, some late by minutes, hours, weeks, some of the future, some too old. */
  #age(): number {
    const prng = this.#prng;
    const kind = prng.nextFloat();
    if (kind < 0.7) return prng.nextInt(2_000);
    if (kind < 0.8) return prng.nextInt(3 * MINUTE_MS);
    if (kind < 0.9) return prng.nextInt(30 * HOUR_MS);
    if (kind < 0.96) return prng.nextInt(30 * DAY_MS);
    if (kind < 0.98) return -prng.nextInt(2 * MINUTE_MS);
    return 33 * DAY_MS + prng.nextInt(DAY_MS);
  }

  #newId(): string {
    const words = Array.from({ length: 8 }, () => this.#prng.nextUint32());
    return words.map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  #anyServer(): Server {
    return this.#prng.pick(this.#servers);
  }

  /** Once faults have stopped, everything is folded and compacted within a bounded time. */
  async #converge(): Promise<void> {
    const newestMs = Math.max(
      this.#latestMs,
      ...this.#auditor.streams.flatMap((stream) => this.#auditor.minutesOf(stream)),
    );
    this.#clock.jumpTo((Math.floor(newestMs / HOUR_MS) + 1) * HOUR_MS + 2 * MINUTE_MS);
    for (let tick = 0; tick < CONVERGENCE_TICKS_MAX; tick += 1) {
      for (let step = 0; step < 100; step += 1) {
        await settle();
        if (!this.#turns.next()) await this.#clock.advance(100);
      }
      await this.#clock.advance(61_000);
      if (await this.#isAtRest()) return;
    }
    throw new Violation('the backlog does not come to an end');
  }

  async #isAtRest(): Promise<boolean> {
    for (let partition = 0; partition < this.#store.partitionCount; partition += 1) {
      const { waitingEntries, damagedEntries } = await this.#store.readStats(partition);
      if (damagedEntries > 0) throw new Violation('something was set aside');
      if (waitingEntries > 0) return false;
      for (const stream of this.#auditor.streams) {
        if ((await readShareIndex(this.#store, partition, stream, [])).parts.length > 0) return false;
      }
    }
    return true;
  }

  /** Every hour, every minute that is kept, and the whole, of every stream. */
  async #audit(): Promise<void> {
    const { queries } = this.#openRoom(this.#store);
    const nowMs = this.#clock.nowMs();
    for (const stream of this.#auditor.streams) {
      for (const hourMs of this.#auditor.hoursOf(stream)) {
        await this.#compare(queries, stream, hourMs, HOUR_MS);
      }
      for (const minuteMs of this.#auditor.minutesOf(stream)) {
        if (minuteMs + MINUTE_MS <= nowMs - RETENTION.minute) continue;
        await this.#compare(queries, stream, minuteMs, MINUTE_MS);
      }
    }
  }

  async #compare(
    queries: StreamQueries,
    stream: string,
    fromMs: number,
    lengthMs: number,
  ): Promise<void> {
    const window = { kind: 'trailing', lengthMs, untilMs: fromMs + lengthMs } as const;
    const top = await queries.top({ stream, window, k: ITEMS_MAX });
    const distinct = await queries.distinct({ stream, window });
    const counts = new Map(top.items.map(({ item, count }) => [item, count]));
    const toMs = fromMs + lengthMs;
    const fault = this.#auditor.check(stream, fromMs, toMs, counts, distinct.estimate);
    const where = `${stream} from ${new Date(fromMs).toISOString()}`;
    if (fault !== null) throw new Violation(`${where}: ${fault}`);
    if (!top.exact || !distinct.exact) throw new Violation(`${where}: not exact`);
    if (top.fromMs !== fromMs || top.toMs !== toMs) throw new Violation(`${where}: another span`);
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof IngestRefusedError;
}
