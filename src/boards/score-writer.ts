/**
 * Applies a batch of scores over the parts of a board. Parts settle what is a duplicate; here it is
 * settled who is asked: while members move, the source first; and the parts of earlier sets, for
 * ids that they may remember.
 */
import { OutcomeUnknownError, StoreUnavailableError } from '../lib/store-errors.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { type Layout, livingParts, pastPartsOf, routeOf } from '../shards/layout.ts';
import type { ScoresAnswer, ScoreResult } from './answers.ts';
import { BoardRefusedError } from './board-errors.ts';
import type { BoardMover } from './board-mover.ts';
import type { BoardRegistry, KnownBoard } from './board-registry.ts';
import type { ScoreEntry, ScoresInput } from './boards.ts';
import type { PartOutcome, PartWriter } from './part-writer.ts';
import { keyOf, scaledOf, scoreOf } from './scores.ts';
import type { BoardSettings } from './settings.ts';
import type { BatchKey, BoardStore, EntryOutcome, PartEntry } from './store-port.ts';

/** Each round comes further: a newer document, a chunk that is carried on. */
const ROUNDS_MAX = 50;

export interface ScoreWriterOptions {
  readonly store: BoardStore;
  readonly registry: BoardRegistry;
  readonly mover: BoardMover;
  readonly writer: PartWriter;
  readonly hash: KeyedHash;
  /** How long after a move parts of the set before it are asked for ids, and for batch keys. */
  readonly idsRememberedMs: number;
  readonly keysRememberedMs: number;
}

interface Item {
  readonly entry: PartEntry;
  readonly hash: number;
  /** The part of which it is known that the member is not there, nor will be made there. */
  absentFrom: string | null;
  outcome: EntryOutcome | null;
}

export class ScoreWriter {
  readonly #options: ScoreWriterOptions;

  constructor(options: ScoreWriterOptions) {
    this.#options = options;
  }

  /** `open` gives the board as it is now, and makes it when there is none. */
  async post(
    open: () => Promise<KnownBoard>,
    { entries, key }: ScoresInput,
  ): Promise<Omit<ScoresAnswer, 'results'> & { results: ScoreResult[] }> {
    let board = await open();
    const items = this.#itemsOf(board.document.settings, entries);
    const batch = key === null ? null : { ...key, size: entries.length };
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const isDone = await this.#round(board, items, batch);
      if (isDone) return this.#answer(board, items);
      board = await open();
    }
    throw new StoreUnavailableError('the parts of the board change all the time');
  }

  /** Throws BoardRefusedError when a board with these settings would refuse the entries. */
  check(settings: BoardSettings, entries: readonly ScoreEntry[]): void {
    this.#itemsOf(settings, entries);
  }

  #itemsOf({ mode, order, decimals }: BoardSettings, entries: readonly ScoreEntry[]): Item[] {
    const { hash } = this.#options;
    const wanted = mode === 'increment' ? 'by' : 'score';
    return entries.map((entry, index) => {
      const given = entry[wanted];
      if (given === undefined) {
        const message = `this board takes ${wanted} (its mode is ${mode})`;
        throw new BoardRefusedError('wrong_score_field', message, { index, parameter: wanted });
      }
      const scaled = scaledOf(given, decimals);
      if (scaled === null) {
        const message = `must be a number of at most ${decimals} decimals that can be kept exactly`;
        throw new BoardRefusedError('invalid_score', message, { index, parameter: wanted });
      }
      hash.hashString(entry.member);
      const value = keyOf(scaled, order);
      // Decimal digits: the engine makes them several times faster than others.
      const id = entry.id === undefined ? null : `${hash.lo}.${hash.hi}.${entry.id}`;
      return {
        entry: { member: entry.member, value, id, index, mayCreate: true },
        hash: hash.lo,
        absentFrom: null,
        outcome: null,
      };
    });
  }

  /** Sends what is not settled yet. True: all is settled now. */
  async #round(board: KnownBoard, items: readonly Item[], key: BatchKey | null): Promise<boolean> {
    const { mover } = this.#options;
    const { layout } = board.document;
    if (layout.move?.stage === 'announced' && layout.parts.length === 0) {
      await mover.settle(board);
      return false;
    }
    if (!(await this.#settleKnown(board, items, key))) return false;
    const groups = groupBy(
      items.filter(({ outcome }) => outcome === null),
      (item) => this.#partOf(board, item),
    );
    const isUntouched = items.every((item) => item.outcome === null && item.absentFrom === null);
    // Over several parts the key is claimed before it is known what fits.
    const isWhole = isUntouched && groups.size === 1 && (key === null || isSingle(layout));
    const sent = await Promise.allSettled(
      [...groups].map(async ([part, group]) => {
        // In a source nobody is made any more who belongs to its target.
        const entries = group.map(({ entry, hash }) => {
          const mayCreate = routeOf(layout, hash).home === part;
          return mayCreate === entry.mayCreate ? entry : { ...entry, mayCreate };
        });
        const atomic = isWhole && entries.every(({ mayCreate }) => mayCreate);
        const request = { key, atomic, entries };
        const outcome = await this.#options.writer.send(board, part, request);
        return { part, group, outcome };
      }),
    );
    let isDone = true;
    let failure: unknown = null;
    for (const result of sent) {
      if (result.status === 'rejected') {
        failure ??= result.reason;
        continue;
      }
      const { part, group, outcome } = result.value;
      isDone = (await this.#take(board, part, group, outcome)) && isDone;
    }
    if (failure !== null) throw failureOf(failure, items);
    return isDone;
  }

  #partOf({ document }: KnownBoard, { hash, absentFrom }: Item): string {
    const { home, source } = routeOf(document.layout, hash);
    return source === null || source === absentFrom ? home : source;
  }

  async #take(
    board: KnownBoard,
    part: string,
    group: readonly Item[],
    outcome: PartOutcome,
  ): Promise<boolean> {
    const { mover, registry } = this.#options;
    switch (outcome.kind) {
      case 'applied': {
        let isDone = true;
        for (const [index, item] of group.entries()) {
          const entry = outcome.entries[index]!;
          if (entry.code === 'absent') {
            item.absentFrom = part;
            isDone = false;
          } else {
            item.outcome = entry;
          }
        }
        return isDone;
      }
      case 'frozen':
        await mover.carryChunk(board, part);
        return false;
      case 'out_of_range': {
        const { index } = group[outcome.entry]!.entry;
        const message = 'the result would not be a safe integer; nothing was applied';
        throw new BoardRefusedError('out_of_range', message, { index });
      }
      case 'key_reused':
        throw keyReused();
      case 'ids_full':
        throw new BoardRefusedError('ids_full', 'the board remembers as many ids as it may');
      case 'stale':
      case 'gone': {
        const before = board.tag;
        const now = await registry.reread(board.name);
        if (now !== null && now.document.layout.move?.stage === 'announced') {
          await mover.settle(now);
        } else if (now?.tag === before && outcome.kind === 'gone') {
          throw new StoreUnavailableError(`a part of the board is gone: ${part}`);
        }
        return false;
      }
      case 'other_season':
        return false;
    }
  }

  /**
   * Settles entries whose id, or whose place in the batch of the key, is remembered by a part that
   * will not be asked otherwise; and claims the key in one part, so that no other body gets it.
   */
  async #settleKnown(
    board: KnownBoard,
    items: readonly Item[],
    key: BatchKey | null,
  ): Promise<boolean> {
    const { writer } = this.#options;
    const { layout } = board.document;
    if (!(await this.#askPast(board, items, key))) return false;
    if (key === null || isSingle(layout)) return true;
    this.#options.hash.hashString(key.key);
    const { home } = routeOf(layout, this.#options.hash.lo);
    const outcome = await writer.send(board, home, { key, atomic: true, entries: [] });
    if (outcome.kind === 'applied') return true;
    return this.#take(board, home, [], outcome);
  }

  async #askPast(
    board: KnownBoard,
    items: readonly Item[],
    key: BatchKey | null,
  ): Promise<boolean> {
    const { store, hash } = this.#options;
    const { layout } = board.document;
    const open = items.filter((item) => item.outcome === null);
    const asked = new Map<string, Item[]>();
    const nowMs = this.#options.writer.nowMs();
    const ask = (part: string, item: Item | null): void => {
      const group = asked.get(part) ?? [];
      if (item !== null) group.push(item);
      asked.set(part, group);
    };
    const sinceMs = nowMs - this.#options[key === null ? 'idsRememberedMs' : 'keysRememberedMs'];
    for (const item of open) {
      if (item.entry.id === null && key === null) continue;
      const { home, source } = routeOf(layout, item.hash);
      for (const part of pastPartsOf(layout, item.hash, sinceMs, source ?? home)) ask(part, item);
    }
    if (key !== null) {
      hash.hashString(key.key);
      const { home, source } = routeOf(layout, hash.lo);
      for (const part of pastPartsOf(layout, hash.lo, sinceMs, home)) ask(part, null);
      if (source !== null) ask(source, null);
    }
    const living = new Set(livingParts(layout));
    for (const [part, group] of asked) {
      const ids = group.flatMap(({ entry }) => (entry.id === null ? [] : [entry.id]));
      const keys = key === null ? [] : [key.key];
      const epoch = living.has(part) ? layout.epoch : null;
      const outcome = await store.remembered(part, epoch, { ids, keys });
      if (outcome.kind !== 'remembered') return this.#take(board, part, [], outcome);
      const [record = null] = outcome.keys;
      if (record !== null && record.fingerprint !== key?.fingerprint) throw keyReused();
      const known = new Set(ids.filter((_, index) => outcome.ids[index]));
      for (const item of group) {
        const isKnown = item.entry.id !== null && known.has(item.entry.id);
        const wasApplied = record?.elements[item.entry.index] === true;
        if (isKnown || wasApplied) item.outcome = { code: 'duplicate', key: null };
      }
    }
    return true;
  }

  #answer(board: KnownBoard, items: readonly Item[]) {
    const { settings, layout } = board.document;
    const results = items.map(({ entry, outcome }): ScoreResult => {
      const { code, key } = outcome!;
      return {
        member: entry.member,
        score: key === null ? null : scoreOf(keyOf(key, settings.order), settings.decimals),
        isDuplicate: code === 'duplicate',
        isOutOfRange: code === 'out_of_range',
      };
    });
    return { board: board.name, shards: layout.parts.length, results };
  }
}

/** No other part has ever been, as far as ids go. */
function isSingle(layout: Layout): boolean {
  return livingParts(layout).length === 1 && layout.past.length === 0;
}

/** That nothing was applied is said only if it is true of the whole batch. */
function failureOf(error: unknown, items: readonly Item[]): unknown {
  const isApplied = items.some(({ outcome }) => outcome?.code === 'applied');
  if (!isApplied || !(error instanceof StoreUnavailableError)) return error;
  const message = `some entries are applied, others are not: ${error.message}`;
  return new OutcomeUnknownError(message, { cause: error });
}

function keyReused(): BoardRefusedError {
  return new BoardRefusedError('key_reused', 'this key was used with another body');
}

function groupBy<T>(values: readonly T[], groupOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const name = groupOf(value);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [value]);
    else group.push(value);
  }
  return groups;
}
