import { BoardRefusedError } from '../../src/boards/board-errors.ts';
import type { BoardsRoom } from '../../src/boards/boards-room.ts';
import { openBoardsRoom } from '../../src/boards/boards-room.ts';
import type { Boards, SeasonAsked } from '../../src/boards/boards.ts';
import type { BoardStore } from '../../src/boards/store-port.ts';
import { type Clock, ManualClock, systemClock } from '../../src/lib/clock.ts';
import type { DocumentStore } from '../../src/lib/document-store.ts';
import { Prng } from '../../src/lib/prng.ts';
import { cryptoTags, seededTags, type TagSource } from '../../src/lib/random-tag.ts';
import { hashKeyFromBytes, KeyedHash } from '../../src/sketches/hash.ts';
import { MemoryBoardStore } from '../../src/store/memory/memory-board-store.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { MemoryRateStore } from '../../src/store/memory/memory-rate-store.ts';
import type { RedisConnection } from '../../src/store/redis/connection.ts';
import { documentKeys } from '../../src/store/redis/keys.ts';
import { RedisBoardStore } from '../../src/store/redis/redis-board-store.ts';
import { RedisDocumentStore } from '../../src/store/redis/redis-document-store.ts';
import { DAY_MS } from '../../src/streams/buckets.ts';
import { START_MS } from '../support/registry-setup.ts';
import { ALL_TIME_START } from './model.ts';
import { SteppedStore } from './stepped-store.ts';

const HASH_KEY = hashKeyFromBytes(Buffer.from('0123456789abcdef', 'hex'));
/** So long that nothing is forgotten while a test runs, however far the clock goes. */
const TTLS = { keyTtlMs: 400 * DAY_MS, idTtlMs: 400 * DAY_MS, callTtlMs: 400 * DAY_MS };
const MAX_REMEMBERED_IDS = 1_000_000;

/** One board of two processes: what one of them changes is news to the other. */
export interface RealBoard {
  readonly name: string;
  /** Moves are begun and ended by the first. */
  readonly rooms: readonly [BoardsRoom, BoardsRoom];
  readonly store: SteppedStore;
  readonly clock: Clock;
  /** Null: time passes by itself. */
  readonly advanceMs: ((ms: number) => void) | null;
  /** Ids of seasons by their starts, as far as they were met. */
  readonly seasonIds: Map<number, string>;
  readonly counts: { commands: number };
}

export interface Stores {
  readonly store: BoardStore;
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly tags: TagSource;
}

export function openRoom({ store, documents, clock, tags }: Stores): BoardsRoom {
  return openBoardsRoom({
    ...{ store, documents, clock, tags, hash: new KeyedHash(HASH_KEY), maxBoards: 1_000 },
    ...{ idTtlMs: TTLS.idTtlMs, keyTtlMs: TTLS.keyTtlMs, rates: new MemoryRateStore() },
    ...{ partRatePerSecond: 1_000_000_000, headroom: 0 },
  });
}

export function memoryStores(): Stores & { readonly clock: ManualClock } {
  const clock = new ManualClock(START_MS);
  const tags = seededTags(new Prng(1));
  const store = new MemoryBoardStore({
    ...{ clock, tags, ...TTLS, maxRememberedIds: MAX_REMEMBERED_IDS },
  });
  return { store, documents: new MemoryDocumentStore(tags), clock, tags };
}

export function redisStores(connection: RedisConnection): Stores {
  const settings = { ...TTLS, maxRememberedIds: MAX_REMEMBERED_IDS, ack: null };
  const store = new RedisBoardStore(connection, settings);
  const documents = new RedisDocumentStore(connection, documentKeys('boards'), null);
  return { store, documents, clock: systemClock, tags: cryptoTags };
}

export function memoryBoard(counts: { commands: number }): RealBoard {
  const stores = memoryStores();
  const advanceMs = (ms: number): void => stores.clock.jumpTo(stores.clock.nowMs() + ms);
  return boardOf(stores, 'board', advanceMs, counts);
}

/** Boards of one Redis differ by their names. */
export function redisBoard(stores: Stores, name: string, counts: { commands: number }): RealBoard {
  return boardOf(stores, name, null, counts);
}

function boardOf(
  stores: Stores,
  name: string,
  advanceMs: RealBoard['advanceMs'],
  counts: { commands: number },
): RealBoard {
  const store = new SteppedStore(stores.store);
  const rooms = [openRoom({ ...stores, store }), openRoom({ ...stores, store })] as const;
  const { clock } = stores;
  return { name, rooms, store, clock, advanceMs, seasonIds: new Map(), counts };
}

export function boardsOf({ rooms }: RealBoard, room: number): Boards {
  return rooms[room % 2]!.boards;
}

/** How a season is asked for by its start; the current one may go without its id. */
export function askFor(real: RealBoard, start: number, isCurrent: boolean): SeasonAsked {
  if (start === ALL_TIME_START) return { view: 'all', season: null };
  return { view: 'hourly', season: isCurrent ? null : (real.seasonIds.get(start) ?? 'unknown') };
}

/** What was answered, or the code (and the entry) for which it was refused. */
export async function refusalOf(run: Promise<unknown>): Promise<string> {
  try {
    await run;
    return 'not refused';
  } catch (error) {
    if (!(error instanceof BoardRefusedError)) throw error;
    return error.index === null ? error.code : `${error.code} ${error.index}`;
  }
}
