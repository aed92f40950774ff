import { openBoardsRoom, type BoardsRoom } from '../../../src/boards/boards-room.ts';
import { BoardRefusedError } from '../../../src/boards/board-errors.ts';
import type { ScoreEntry } from '../../../src/boards/boards.ts';
import { ManualClock } from '../../../src/lib/clock.ts';
import { Prng } from '../../../src/lib/prng.ts';
import { seededTags, type TagSource } from '../../../src/lib/random-tag.ts';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import { OutdatedBoardError } from '../../../src/boards/part-reader.ts';
import { KeyedHash } from '../../../src/sketches/hash.ts';
import { MemoryRateStore } from '../../../src/store/memory/memory-rate-store.ts';
import { type FaultRates, NO_FAULTS } from '../faulty-store.ts';
import { settle, Turns } from '../turns.ts';
import { BoardAuditor } from './board-auditor.ts';
import { BoardConnection } from './board-connection.ts';
import { BOARD_LIMITS, type BoardCanary, ReplicatedBoards } from './replicated-boards.ts';

export const BOARD_EVENTS_MIN = 200;
const BOARD = 'final';
const ALL_TIME = { view: 'all', season: null } as const;
const START_MS = Date.UTC(2026, 10, 30, 21, 37);
const CLIENTS = 3;
const READERS = 1;
const PROCESSES = 3;
const BATCHES = 12;
const STEPS_MAX = 60_000;
const MEMBERS = 14;

export interface BoardReport {
  readonly events: number;
  readonly crashes: number;
  readonly retries: number;
  readonly failovers: number;
  readonly moves: number;
  readonly reads: number;
  readonly violation: string | null;
}

class Violation extends Error {}

interface Server {
  readonly connection: BoardConnection;
  readonly room: BoardsRoom;
}

/** Boards that split and shrink while they are written and read, all of it drawn from the seed. */
export function simulateBoards(seed: number, canary: BoardCanary = 'none'): Promise<BoardReport> {
  return new BoardSimulation(seed, canary).run();
}

class BoardSimulation {
  readonly #prng: Prng;
  readonly #canary: BoardCanary;
  readonly #clock = new ManualClock(START_MS);
  readonly #tags: TagSource;
  readonly #turns: Turns;
  readonly #stores = new ReplicatedBoards();
  readonly #hash = new KeyedHash({ k0: 1, k1: 2 });
  readonly #auditor = new BoardAuditor();
  readonly #servers: Server[] = [];
  readonly #rates: FaultRates;
  #clientsLeft = CLIENTS;
  #isEnding = false;
  #events = 0;
  #crashes = 0;
  #retries = 0;
  #failovers = 0;
  #moves = 0;
  #reads = 0;

  constructor(seed: number, canary: BoardCanary) {
    this.#prng = new Prng(seed);
    this.#canary = canary;
    this.#tags = seededTags(this.#prng);
    this.#turns = new Turns(this.#prng);
    const often = this.#prng.chance(0.5) ? 1 : 0.3;
    this.#rates = {
      lostRequest: 0.02 * often,
      lostAnswer: 0.02 * often,
      lostWriteAnswer: 0.06 * often,
      resent: 0.05 * often,
      crash: 0.004 * often,
    };
    for (let index = 0; index < PROCESSES; index += 1) this.#servers.push(this.#open());
  }

  async run(): Promise<BoardReport> {
    let violation: string | null = null;
    try {
      await this.#drive();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violation = error.message;
    }
    return {
      ...{ events: this.#events, crashes: this.#crashes, retries: this.#retries },
      ...{ failovers: this.#failovers, moves: this.#moves, reads: this.#reads, violation },
    };
  }

  #open(): Server {
    const connection = new BoardConnection({
      ...{ boards: this.#stores, turns: this.#turns, prng: this.#prng, clock: this.#clock },
      ...{ tags: this.#tags, canary: this.#canary },
      rates: () => (this.#isEnding ? NO_FAULTS : this.#rates),
    });
    const room = openBoardsRoom({
      ...{ store: connection.store(), documents: connection.documents() },
      ...{ clock: this.#clock, tags: this.#tags, hash: this.#hash, maxBoards: 10 },
      ...{ idTtlMs: BOARD_LIMITS.idTtlMs, keyTtlMs: BOARD_LIMITS.keyTtlMs },
      ...{ rates: new MemoryRateStore(), partRatePerSecond: 1e9, headroom: 0 },
    });
    return { connection, room };
  }

  async #drive(): Promise<void> {
    const tasks = [
      ...Array.from({ length: CLIENTS }, (_, client) => this.#client(client)),
      ...Array.from({ length: READERS }, () => this.#reader()),
      this.#operator(),
      this.#worker(),
    ];
    let left = tasks.length;
    const faults: unknown[] = [];
    for (const task of tasks) {
      task.catch((error: unknown) => faults.push(error)).finally(() => (left -= 1));
    }
    for (let step = 0; left > 0; step += 1) {
      await settle();
      if (faults.length > 0) throw faults[0];
      if (step > STEPS_MAX) throw new Violation('it does not come to an end');
      // Nobody is in the middle of a call now.
      if (!this.#isEnding && this.#prng.chance(0.006)) {
        await this.#stores.failOver(this.#prng);
        this.#failovers += 1;
      }
      if (this.#prng.chance(0.01)) await this.#clock.advance(this.#prng.nextInt(2_000));
      if (!this.#turns.next() && left > 0) await this.#clock.advance(10);
    }
  }

  /** Something with a server that may be gone in the middle of it; null: it has gone. */
  async #on<T>(run: (room: BoardsRoom) => Promise<T>): Promise<T | null> {
    await this.#turns.wait();
    const index = this.#prng.nextInt(this.#servers.length);
    const { connection, room } = this.#servers[index]!;
    const result = await Promise.race([run(room).then((value) => ({ value })), connection.crashed]);
    if (result !== 'crashed') return result.value;
    if (this.#servers[index]!.connection === connection) {
      this.#servers[index] = this.#open();
      this.#crashes += 1;
    }
    return null;
  }

  /** Again and again until somebody has done it. */
  async #until<T>(run: (room: BoardsRoom) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const result = await this.#on(run);
        if (result !== null) return result;
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
      this.#retries += 1;
    }
  }

  async #client(client: number): Promise<void> {
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const hasKey = this.#prng.chance(0.5);
      const entries = Array.from({ length: 6 + this.#prng.nextInt(5) }, (_, index) => ({
        member: `member-${this.#prng.nextInt(MEMBERS)}`,
        by: 1 + this.#prng.nextInt(5),
        ...(hasKey ? {} : { id: `${client}-${batch}-${index}` }),
      }));
      const key = hasKey ? { key: `${client}-${batch}`, fingerprint: 'f'.repeat(22) } : null;
      await this.#post(entries, key);
      // A late retry, long after it was acknowledged and perhaps moved.
      if (this.#prng.chance(0.3)) await this.#again(entries, key);
    }
    this.#clientsLeft -= 1;
  }

  async #post(
    entries: readonly (ScoreEntry & { by: number })[],
    key: { key: string; fingerprint: string } | null,
  ): Promise<void> {
    const posted = this.#auditor.post(entries);
    this.#events += entries.length;
    await this.#until((room) => room.boards.post(BOARD, { entries, key, withRanks: false }));
    posted.isAcknowledged = true;
  }

  async #again(
    entries: readonly ScoreEntry[],
    key: { key: string; fingerprint: string } | null,
  ): Promise<void> {
    const input = { entries, key, withRanks: false };
    const answer = await this.#until((room) => room.boards.post(BOARD, input));
    const fresh = answer.results.find(({ isDuplicate }) => !isDuplicate);
    if (fresh !== undefined) throw new Violation(`${fresh.member} was counted twice`);
  }

  async #reader(): Promise<void> {
    while (!this.#isEnding) {
      const certain = this.#auditor.sums('acknowledged');
      const asked = { ...ALL_TIME, k: MEMBERS + 1, offset: 0, cursor: null };
      const page = await this.#on((room) => room.boards.page(BOARD, asked)).catch(nullIfPassing);
      if (page === null || page.missing.length > 0) continue;
      this.#reads += 1;
      const fault = this.#auditor.faultIn(page, certain);
      if (fault !== null) throw new Violation(`while it moves, ${fault}`);
    }
  }

  /** Asks for moves as long as there are clients; then waits for the last one, and looks at all. */
  async #operator(): Promise<void> {
    for (let move = 0; move < 6; move += 1) {
      const now = await this.#on((room) => room.boards.describe(BOARD)).catch(nullIfPassing);
      const isGrowth = now === null || now.shards === 1 || this.#prng.chance(0.6);
      const shards = (now?.shards ?? 1) * (isGrowth ? 2 : 0.5);
      const asked = await this.#on((room) => room.boards.setShards(BOARD, shards)).catch(
        nullIfPassing,
      );
      if (asked !== null && asked.movingTo !== null) this.#moves += 1;
      for (let turn = 0; turn < 60; turn += 1) await this.#turns.wait();
    }
    while (this.#clientsLeft > 0) await this.#turns.wait();
    this.#isEnding = true;
    await this.#until((room) => room.mover.run(BOARD).then(() => true));
    const asked = { ...ALL_TIME, k: MEMBERS + 1, offset: 0, cursor: null };
    const page = await this.#until((room) => room.boards.page(BOARD, asked));
    const fault = this.#auditor.faultAtEnd(page);
    if (fault !== null) throw new Violation(`in the end, ${fault}`);
    const { sum } = await this.#until((room) =>
      room.boards.stats(BOARD, { ...ALL_TIME, buckets: 3 }),
    );
    const total = [...this.#auditor.sums('acknowledged').values()].reduce((a, b) => a + b, 0);
    if (Number(sum) !== total) throw new Violation(`the sum is ${sum}, not ${total}`);
  }

  async #worker(): Promise<void> {
    while (!this.#isEnding) {
      await this.#on((room) => room.upkeep.run().then(() => true)).catch(nullIfPassing);
      for (let turn = 0; turn < 20; turn += 1) await this.#turns.wait();
    }
  }
}

/** What a client is told to try again after. */
function isPassing(error: unknown): boolean {
  if (error instanceof BoardRefusedError) {
    return error.code === 'board_not_found' || error.code === 'move_under_way';
  }
  return (
    error instanceof StoreUnavailableError ||
    error instanceof OutcomeUnknownError ||
    error instanceof OutdatedBoardError
  );
}

function nullIfPassing(error: unknown): null {
  const isAskedTooMuch = error instanceof BoardRefusedError && error.code === 'invalid_shards';
  if (isPassing(error) || isAskedTooMuch) return null;
  throw error;
}
