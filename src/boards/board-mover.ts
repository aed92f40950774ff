/**
 * Carries moves on: every step may be taken by anybody, at any time and again. What is done is
 * decided by the board's document and by what its parts say of themselves.
 */
import type { Clock } from '../lib/clock.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import {
  begun,
  droppableParts,
  finished,
  knownParts,
  type MovePair,
  movePairs,
  routeOf,
  withoutPast,
} from '../shards/layout.ts';
import type { BoardRegistry, KnownBoard } from './board-registry.ts';
import { keptSeasons } from './board-seasons.ts';
import { CHUNK_ROWS_MAX } from './limits.ts';
import type { BoardStore, Chunk, PartAt, PrepareOutcome, SeasonAt } from './store-port.ts';

export interface BoardMoverOptions {
  readonly store: BoardStore;
  readonly registry: BoardRegistry;
  readonly clock: Clock;
  readonly hash: KeyedHash;
  /** How long parts of earlier sets are asked for ids. */
  readonly rememberMs: number;
}

/** Whether a walk came to its end, or has to be begun anew from the board's document. */
type WalkEnd = 'walked' | 'outdated';

const STEPS_MAX = 1_000_000;

export class BoardMover {
  readonly #options: BoardMoverOptions;
  readonly #running = new Map<string, Promise<void>>();

  constructor(options: BoardMoverOptions) {
    this.#options = options;
  }

  /** Opens parts and raises epochs until the move that is announced has begun. */
  async settle(board: KnownBoard): Promise<void> {
    const { store, registry } = this.#options;
    const { layout } = board.document;
    const { move } = layout;
    if (move?.stage !== 'announced') return;
    for (const part of move.parts) {
      if (!layout.parts.includes(part)) await store.openPart(part, move.epoch);
    }
    for (const part of layout.parts) {
      const outcome = await store.raiseEpoch(part, layout.epoch, move.epoch);
      // Somebody is further than this document: whoever reads it again sees how far.
      if (outcome.kind !== 'done') return;
    }
    await registry.change(board.name, (before) => {
      const isSame = before?.layout.move?.stage === 'announced';
      if (!isSame || before.layout.move!.epoch !== move.epoch) return before;
      return { ...before, layout: begun(before.layout) };
    });
  }

  /** Ends the chunk that is under way in a source, if there is one. */
  async carryChunk(board: KnownBoard, source: string): Promise<void> {
    const pair = movePairs(board.document.layout).find((one) => one.source === source);
    if (pair === undefined) return;
    await this.#moveChunk(board, pair, []);
  }

  /** Carries a board's move to its end; one run of a board at a time in this process. */
  run(name: string): Promise<void> {
    const running = this.#running.get(name);
    if (running !== undefined) return running;
    const run = this.#run(name).finally(() => this.#running.delete(name));
    this.#running.set(name, run);
    return run;
  }

  /** Ends what is under way of a board: its deletion, its move, parts that are over. */
  async upkeep(board: KnownBoard): Promise<void> {
    const { clock, registry, rememberMs, store } = this.#options;
    if (board.document.isDeleted) return this.drop(board);
    if (board.document.layout.move !== null) await this.run(board.name);
    const sinceMs = clock.nowMs() - rememberMs;
    const over = droppableParts(board.document.layout, sinceMs);
    if (over.length === 0) return;
    for (const part of over) await store.dropPart(part, keptSeasons(board, clock.nowMs()));
    await registry.change(board.name, (before) => {
      if (before === null || droppableParts(before.layout, sinceMs).length === 0) return before;
      return { ...before, layout: withoutPast(before.layout, sinceMs) };
    });
  }

  /** Drops all parts of a board that is marked as deleted, then its document. */
  async drop(board: KnownBoard): Promise<void> {
    const { store, clock, registry } = this.#options;
    const seasons = keptSeasons(board, clock.nowMs());
    for (const part of knownParts(board.document.layout)) await store.dropPart(part, seasons);
    const { generation } = board.document;
    await registry.change(board.name, (before) =>
      before?.isDeleted === true && before.generation === generation ? null : before,
    );
  }

  async #run(name: string): Promise<void> {
    const { registry, clock } = this.#options;
    for (let step = 0; step < STEPS_MAX; step += 1) {
      const board = await registry.reread(name);
      const move = board?.document.layout.move ?? null;
      if (board === null || board.document.isDeleted || move === null) return;
      if (move.stage === 'announced') {
        await this.settle(board);
        continue;
      }
      const ends = await Promise.all(
        movePairs(board.document.layout).map((pair) => this.#walk(board, pair)),
      );
      if (ends.includes('outdated')) continue;
      await registry.change(name, (before) => {
        const isSame = before?.layout.move?.stage === 'moving';
        if (!isSame || before.layout.epoch !== board.document.layout.epoch) return before;
        return { ...before, layout: finished(before.layout, clock.nowMs()) };
      });
    }
  }

  /** Moves what belongs to the target, chunk by chunk. */
  async #walk(board: KnownBoard, pair: MovePair): Promise<WalkEnd> {
    const { store, clock } = this.#options;
    const seasonCount = keptSeasons(board, clock.nowMs()).length;
    const chunkMembers = Math.max(1, Math.floor(CHUNK_ROWS_MAX / (seasonCount + 3)));
    let cursor: string | null = null;
    do {
      const scanned = await store.scan(this.#at(board, pair.source), cursor);
      if (scanned.kind !== 'scanned') return 'outdated';
      const leaving = scanned.members.filter((member) => this.#belongsTo(board, member, pair));
      for (let start = 0; start < leaving.length; start += chunkMembers) {
        const members = leaving.slice(start, start + chunkMembers);
        if ((await this.#moveAll(board, pair, members)) === 'outdated') return 'outdated';
      }
      cursor = scanned.cursor;
    } while (cursor !== null);
    return this.#moveAll(board, pair, []);
  }

  /** A chunk of others may be under way: it goes first. */
  async #moveAll(board: KnownBoard, pair: MovePair, members: string[]): Promise<WalkEnd> {
    for (;;) {
      const moved = await this.#moveChunk(board, pair, members);
      if (moved === 'outdated') return 'outdated';
      if (moved === null) return 'walked';
    }
  }

  /** Null: there was nothing to move. */
  async #moveChunk(
    board: KnownBoard,
    { source, target }: MovePair,
    members: readonly string[],
  ): Promise<Chunk | 'outdated' | null> {
    const { store } = this.#options;
    const prepared = await this.#prepare(board, source, members);
    if (prepared.outcome.kind !== 'prepared') return 'outdated';
    const { seasons, outcome } = prepared;
    const { chunk } = outcome;
    if (chunk === null) return null;
    const admitted = await store.admitChunk(this.#at(board, target), seasons, chunk);
    if (admitted.kind !== 'done') return 'outdated';
    const released = await store.releaseChunk(this.#at(board, source), seasons, chunk.number);
    return released.kind === 'done' ? chunk : 'outdated';
  }

  /** By the store's clock a season may have begun that this process does not see yet. */
  async #prepare(
    board: KnownBoard,
    source: string,
    members: readonly string[],
  ): Promise<{ seasons: SeasonAt[]; outcome: PrepareOutcome }> {
    const { store, clock } = this.#options;
    let nowMs = clock.nowMs();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const seasons = keptSeasons(board, nowMs);
      const outcome = await store.prepareChunk(this.#at(board, source), { seasons, members });
      if (outcome.kind !== 'other_season') return { seasons, outcome };
      nowMs = outcome.nowMs;
    }
    throw new StoreUnavailableError('the clocks of Redis and of this process run apart');
  }

  #belongsTo({ document }: KnownBoard, member: string, { target }: MovePair): boolean {
    const { hash } = this.#options;
    hash.hashString(member);
    return routeOf(document.layout, hash.lo).home === target;
  }

  #at({ document }: KnownBoard, part: string): PartAt {
    const { layout, settings } = document;
    return { part, epoch: layout.epoch, rules: { mode: settings.mode, ties: settings.ties } };
  }
}
