import { ManualClock } from '../../src/lib/clock.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { CLOSED_SHAPE, type SummaryShape } from '../../src/sketches/summary.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import type { EventIngest } from '../../src/streams/ingest.ts';
import { IngestRefusedError } from '../../src/streams/ingest-errors.ts';
import type { StreamQueries } from '../../src/streams/queries.ts';
import type { StreamRegistry } from '../../src/streams/registry.ts';
import { shareKeyOf } from '../../src/streams/shares.ts';
import type { StreamStore } from '../../src/streams/store-port.ts';
import { openStreamsRoom, type StreamsRoom } from '../../src/streams/streams-room.ts';
import { WINDOW_MAX_MS } from '../../src/streams/window.ts';
import { findFault, ITEMS_MAX, RETENTION } from './audit.ts';
import { type AuditedEvent, Auditor } from './auditor.ts';
import { EventSource, OWN_SETTINGS, SHARED_SETTINGS, SHARED_STREAMS } from './event-source.ts';
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

const START_MS = Date.UTC(2026, 10, 30, 21, 37);
const STEPS_MAX = 60_000;
const CONVERGENCE_TICKS_MAX = 40;
const CLIENT_COUNT = 3;
const PROCESS_COUNT = 2;
/** So small that a few events are sketched. */
const SMALL_SHAPE: SummaryShape = {
  ...CLOSED_SHAPE,
  width: 32,
  depth: 2,
  candidates: 6,
  exactItems: 4,
  exactPairs: 12,
  viewerBytes: 512,
};
/** Until a change of settings holds in every process, with time to spare for clocks that jump. */
const SETTLED_MS = 3_000;
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
  readonly registry: StreamRegistry;
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
  readonly #registryStore: MemoryDocumentStore;
  readonly #hash: KeyedHash;
  readonly #auditor = new Auditor();
  readonly #servers: Server[] = [];
  readonly #workers: Connection[] = [];
  /** Most that can have been counted for each stream and item, each batch sent counted once. */
  readonly #sent = new Map<string, number>();
  readonly #source: EventSource;
  readonly #closedShape: SummaryShape;
  /** Of the shared streams, which are never deleted, and of those that are. */
  readonly #hasSegments: boolean;
  readonly #ownHaveSegments: boolean;
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
    const isFocusedRun = isFocused ?? prng.chance(0.15);
    this.#source = new EventSource(prng, isFocusedRun, isFocusedRun ? 1 : 2 + prng.nextInt(5));
    this.#closedShape = prng.chance(0.15) ? SMALL_SHAPE : CLOSED_SHAPE;
    this.#hasSegments = prng.chance(0.08);
    this.#ownHaveSegments = prng.chance(0.03);
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
      partitionCount: isFocusedRun ? 1 : 1 + prng.nextInt(2),
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
    this.#registryStore = new MemoryDocumentStore(options.tags);
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
    const ownStreams = Array.from({ length: CLIENT_COUNT }, (_, index) => `own-${index}`);
    const { registry } = this.#openRoom(this.#store);
    if (this.#hasSegments) {
      for (const stream of SHARED_STREAMS) await registry.changeSettings(stream, SHARED_SETTINGS);
    }
    if (this.#ownHaveSegments) {
      for (const stream of ownStreams) await registry.changeSettings(stream, OWN_SETTINGS);
    }
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
    for (const stream of ownStreams) follow(this.#client(stream));
    follow(this.#onlooker());
    for (let step = 0; running > 0; step += 1) {
      if (step === STEPS_MAX) throw new Violation('the clients do not come to an end');
      await this.#step();
      if (failures.length > 0) throw failures[0]!;
    }
    const room = this.#openRoom(this.#store);
    await this.#converge(room.registry);
    const fault = await findFault({
      ...room,
      auditor: this.#auditor,
      prng: this.#prng,
      nowMs: this.#clock.nowMs(),
      isExact: this.#closedShape === CLOSED_SHAPE,
      isThorough: this.#hasSegments || this.#prng.chance(0.25),
    });
    if (fault !== null) throw new Violation(fault);
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
    return { connection, ...this.#openRoom(connection.port()) };
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
      closedShape: this.#closedShape,
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

  /** And begins it anew: nothing of before may come back in its segments either. */
  async #delete(stream: string): Promise<void> {
    await this.#insist((registry) => registry.delete(stream));
    this.#auditor.delete(stream);
    if (!this.#ownHaveSegments) return;
    await this.#insist((registry) => registry.changeSettings(stream, OWN_SETTINGS));
    await this.#clock.sleep(SETTLED_MS);
  }

  /** Has any server do it, until one says that it is done. */
  async #insist(change: (registry: StreamRegistry) => Promise<unknown>): Promise<void> {
    for (;;) {
      const { registry, connection } = this.#anyServer();
      const done = change(registry).then(() => true);
      if ((await this.#unlessLost(done, connection)) !== null) return;
      await this.#turns.wait();
    }
  }

  /** Reads all the time: nothing may ever be counted more often than it was sent. */
  async #onlooker(): Promise<void> {
    while (!this.#isEnding) {
      await this.#turns.wait();
      if (this.#prng.chance(0.5)) continue;
      const { queries, connection } = this.#anyServer();
      const stream = this.#prng.pick(SHARED_STREAMS);
      const lengthMs = this.#prng.chance(0.01) ? WINDOW_MAX_MS : HOUR_MS;
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
    const events = this.#source.makeEvents(ownStream, suffix, this.#clock.nowMs());
    this.#events += events.length;
    for (const { stream, item, count } of events) {
      const key = `${stream}/${item}`;
      this.#sent.set(key, (this.#sent.get(key) ?? 0) + count);
    }
    return events;
  }

  #newId(): string {
    const words = Array.from({ length: 8 }, () => this.#prng.nextUint32());
    return words.map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  #anyServer(): Server {
    return this.#prng.pick(this.#servers);
  }

  /** Once faults have stopped, everything is folded and compacted within a bounded time. */
  async #converge(registry: StreamRegistry): Promise<void> {
    const newestMs = Math.max(
      this.#latestMs,
      ...this.#auditor.streams.flatMap((stream) => this.#auditor.timesOf(stream)),
    );
    // Half of the runs end with a day, so that it is closed; the others leave it open.
    const unitMs = this.#prng.pick([HOUR_MS, DAY_MS]);
    this.#clock.jumpTo((Math.floor(newestMs / unitMs) + 1) * unitMs + 2 * MINUTE_MS);
    for (let tick = 0; tick < CONVERGENCE_TICKS_MAX; tick += 1) {
      for (let step = 0; step < 100; step += 1) {
        await settle();
        if (!this.#turns.next()) await this.#clock.advance(100);
      }
      await this.#clock.advance(61_000);
      if (await this.#isAtRest(registry)) return;
    }
    throw new Violation('the backlog does not come to an end');
  }

  async #isAtRest(registry: StreamRegistry): Promise<boolean> {
    const shares = await this.#sharesOf(registry);
    for (let partition = 0; partition < this.#store.partitionCount; partition += 1) {
      const { waitingEntries, damagedEntries } = await this.#store.readStats(partition);
      if (damagedEntries > 0) throw new Violation('something was set aside');
      if (waitingEntries > 0) return false;
      for (const share of shares) {
        const { parts } = await readShareIndex(this.#store, partition, share, []);
        if (parts.length > 0) return false;
      }
    }
    return true;
  }

  /** The keys of all streams and their segments. */
  async #sharesOf(registry: StreamRegistry): Promise<string[]> {
    const keys: string[] = [];
    for (const stream of this.#auditor.streams) {
      const profile = await registry.of(stream);
      const segments = profile.settings.dimensions.flatMap(({ name }) =>
        profile.valuesOf(name).map((value) => ({ dimension: name, value })),
      );
      keys.push(...[null, ...segments].map((segment) => shareKeyOf(stream, segment)));
    }
    return keys;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof StoreUnavailableError || error instanceof IngestRefusedError;
}
