/** Opens the boards room: its parts, wired. */
import type { Clock } from '../lib/clock.ts';
import type { DocumentStore } from '../lib/document-store.ts';
import type { TagSource } from '../lib/random-tag.ts';
import type { RateStore } from '../shards/rate-port.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { BoardGrowth } from './board-growth.ts';
import { BoardMover } from './board-mover.ts';
import { BoardQueries } from './board-queries.ts';
import { BoardRegistry } from './board-registry.ts';
import { BoardUpkeep } from './board-upkeep.ts';
import type { Boards } from './boards.ts';
import { BoardsFacade } from './boards-facade.ts';
import { PartReader } from './part-reader.ts';
import { PartWriter } from './part-writer.ts';
import { ScoreWriter } from './score-writer.ts';
import type { BoardStore } from './store-port.ts';

export interface BoardsRoomOptions {
  readonly store: BoardStore;
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly hash: KeyedHash;
  readonly maxBoards: number;
  /** As the store has them: how long ids and batch keys are remembered at least. */
  readonly idTtlMs: number;
  readonly keyTtlMs: number;
  readonly rates: RateStore;
  /** Writes per second that one part can take, and the fraction of it that stays free. */
  readonly partRatePerSecond: number;
  readonly headroom: number;
}

export interface BoardsRoom {
  readonly boards: Boards;
  readonly registry: BoardRegistry;
  readonly mover: BoardMover;
  readonly upkeep: BoardUpkeep;
  readonly growth: BoardGrowth;
}

/** Ids live for up to twice their time. */
const TTLS_KEPT = 2;

export function openBoardsRoom(options: BoardsRoomOptions): BoardsRoom {
  const { store, documents, clock, tags, hash, maxBoards } = options;
  const idsRememberedMs = TTLS_KEPT * options.idTtlMs;
  const keysRememberedMs = TTLS_KEPT * options.keyTtlMs;
  const rememberMs = Math.max(idsRememberedMs, keysRememberedMs);
  const registry = new BoardRegistry({ documents, clock, tags, maxBoards });
  const mover = new BoardMover({ store, registry, clock, hash, rememberMs });
  const writer = new PartWriter({ store, clock, tags });
  const remembered = { idsRememberedMs, keysRememberedMs };
  const scores = new ScoreWriter({ store, registry, mover, writer, hash, ...remembered });
  const parts = new PartReader({ store, registry, mover });
  const queries = new BoardQueries({ parts, registry, writer });
  const boards: Boards = new BoardsFacade({
    ...{ store, registry, mover, scores, queries, writer, tags, hash },
    onWrites: (board, entries) => growth.record(board, entries),
  });
  const growth = new BoardGrowth({ ...options, registry, boards });
  const upkeep = new BoardUpkeep({ documents, registry, mover });
  return { boards, registry, mover, upkeep, growth };
}
