/**
 * Reads one season of a board over all its parts. Every answer comes from a last round of one call
 * a part that returns rows and how many stand before them, so that ranks and rows agree; what comes
 * before only looks for the place.
 */
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { livingParts } from '../shards/layout.ts';
import { BoardRefusedError } from './board-errors.ts';
import type { KnownBoard } from './board-registry.ts';
import { DENSE_LEVELS_MAX, SEEK_SLACK_ROWS } from './limits.ts';
import type { PartReader, PartReplies } from './part-reader.ts';
import { after, afterTies, beforeTies, comparePositions, mergedRows } from './row-order.ts';
import type { LocatedMember, PartAsk, PartRow, Position, SeasonAt } from './store-port.ts';

/** Tries of what others may change in between. */
const ATTEMPTS_MAX = 20;
const SEEK_ROUNDS_MAX = 100;

export interface RankedRow extends PartRow {
  readonly rank: number;
}

export interface Stretch {
  readonly replies: PartReplies;
  /** Rows before the first one. */
  readonly start: number;
  readonly size: number;
  readonly rows: readonly RankedRow[];
}

/** Where a member stands, by rows of one moment. */
export interface Standing {
  readonly row: LocatedMember;
  /** Null: hidden. */
  readonly rank: number | null;
  /** Members that rank strictly below; null: hidden. */
  readonly below: number | null;
}

export interface Standings {
  readonly replies: PartReplies;
  readonly size: number;
  /** In the order asked for; null: not in this season. */
  readonly standings: readonly (Standing | null)[];
}

/** A place in the order, and how many rows lie between it and the one that is looked for. */
interface Place {
  readonly from: Position | null;
  readonly left: number;
}

/** A member whose row is as it was read first, whatever happens to it meanwhile. */
interface Pinned {
  readonly member: string;
  readonly row: PartRow;
}

export class SeasonReader {
  readonly #parts: PartReader;
  readonly #board: KnownBoard;
  readonly #season: SeasonAt;

  constructor(parts: PartReader, board: KnownBoard, season: SeasonAt) {
    this.#parts = parts;
    this.#board = board;
    this.#season = season;
  }

  /** `limit` rows from the place with so many rows before it; none behind the last one. */
  async fromOffset(offset: number, limit: number): Promise<Stretch> {
    const { layout, settings } = this.#board.document;
    if (livingParts(layout).length === 1 && settings.ties === 'earliest') {
      return this.#skipping(offset, limit);
    }
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const place = await this.#seek(offset);
      if (place === 'behind the end') {
        return { ...(await this.fromPosition(null, 1)), start: offset, rows: [] };
      }
      if (place === 'moved') continue;
      const stretch = await this.fromPosition(place.from, place.left + limit);
      const skipped = offset - stretch.start;
      // What moved meanwhile has moved the place too, and there may be more behind what was read.
      const isCut = skipped > place.left && stretch.rows.length === place.left + limit;
      if (skipped < 0 || isCut) continue;
      const rows = stretch.rows.slice(skipped, skipped + limit);
      return { ...stretch, start: offset, rows };
    }
    throw changing();
  }

  /** On one part, where ranks are places, nothing has to be looked for. */
  async #skipping(offset: number, limit: number): Promise<Stretch> {
    const replies = await this.#ask([
      { kind: 'rows', from: null, skip: offset, limit, without: null },
    ]);
    const { rows, size } = replies.all(0, 'rows')[0]!;
    const ranked = rows.map((row, index) => ({ ...row, rank: offset + index + 1 }));
    return { replies, start: offset, size, rows: ranked };
  }

  /** Null: the beginning. */
  async fromPosition(
    from: Position | null,
    limit: number,
    pinned: Pinned | null = null,
  ): Promise<Stretch> {
    const { ties } = this.#board.document.settings;
    const without = pinned?.member ?? null;
    const asks: PartAsk[] = [{ kind: 'rows', from, skip: 0, limit, without }];
    if (ties !== 'earliest' && from !== null) {
      asks.push({ kind: 'count', before: [beforeTies(from.key)], without });
      if (ties === 'dense') asks.push(this.#levelsBelow(from.key));
    }
    const replies = await this.#ask(asks);
    const parts = replies.all(0, 'rows');
    const start = sum(parts.map(({ before }) => before));
    const rows = mergedRows(parts.map((part) => part.rows));
    if (pinned !== null) insert(rows, pinned.row);
    const better =
      asks.length > 1 ? sum(replies.all(1, 'count').map(({ before }) => before[0]!)) : 0;
    const levels = asks.length > 2 ? this.#levelCount(replies, 2, from!.key) : 0;
    const ranked = rankRows(rows.slice(0, limit), { from, start, better, levels, ties });
    const size = sum(parts.map((part) => part.size)) + (pinned === null ? 0 : 1);
    return { replies, start, size, rows: ranked };
  }

  /** The first of at most `limit` rows before a place; null: there is none. */
  async positionBefore(at: Position, limit: number): Promise<Position | null> {
    const replies = await this.#ask([
      { kind: 'rows', from: at, skip: -limit, limit, without: null },
    ]);
    const rows = mergedRows(replies.all(0, 'rows').map((part) => part.rows));
    const before = rows.filter((row) => comparePositions(row, at) < 0);
    return before.at(-limit) ?? before[0] ?? null;
  }

  /** `n` rows around a member, which is among them; null: not in this season, or hidden. */
  async around(member: string, n: number): Promise<Stretch | null> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const row = await this.#located(member);
      if (row === null || row.isHidden) return null;
      const first = await this.#windowStart({ member, row }, n);
      const stretch = await this.fromPosition(first, n, { member, row });
      if (this.#board.document.settings.ties !== 'dense') return stretch;
      // Levels cannot leave a member out: its row must not have changed.
      const now = await this.#located(member);
      if (now !== null && comparePositions(now, row) === 0) return stretch;
    }
    throw changing();
  }

  async standings(members: readonly string[]): Promise<Standings> {
    const isDense = this.#board.document.settings.ties === 'dense';
    let rows = this.#rowsOf(await this.#ask([{ kind: 'locate', members }]), 0, members);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const asks = this.#standingAsks(rows, members);
      const replies = await this.#ask(asks);
      if (!isDense) return this.#countedStandings(replies, rows);
      const now = this.#rowsOf(replies, 1, members);
      if (now.every((row, index) => isSameRow(row, rows[index]!))) {
        return this.#denseStandings(replies, rows);
      }
      rows = now;
    }
    throw changing();
  }

  async stats(edges: readonly number[]) {
    const replies = await this.#ask([{ kind: 'stats', edges }]);
    return { replies, parts: replies.all(0, 'stats') };
  }

  async #located(member: string): Promise<LocatedMember | null> {
    const replies = await this.#ask([{ kind: 'locate', members: [member] }]);
    return this.#rowsOf(replies, 0, [member])[0]!;
  }

  /** Where the window of n rows around a member begins; it slides at both ends. */
  async #windowStart({ member, row }: Pinned, n: number): Promise<Position> {
    const ask = { kind: 'rows', from: row, skip: -n, limit: 2 * n, without: member } as const;
    const parts = (await this.#ask([ask])).all(0, 'rows');
    const index = sum(parts.map(({ before }) => before));
    const size = sum(parts.map((part) => part.size)) + 1;
    const start = Math.max(0, Math.min(index - Math.floor(n / 2), size - n));
    const rows = mergedRows(parts.map((part) => part.rows));
    insert(rows, row);
    const at = rows.findIndex((one) => one === row);
    return rows[Math.max(0, at - (index - start))]!;
  }

  /** Looks for a place with few rows left to the offset. */
  async #seek(offset: number): Promise<Place | 'behind the end' | 'moved'> {
    const partCount = livingParts(this.#board.document.layout).length;
    let from: Position | null = null;
    let left = offset;
    let caution = 1;
    for (let round = 0; left > SEEK_SLACK_ROWS + partCount; round += 1) {
      if (round === SEEK_ROUNDS_MAX) throw changing();
      // The first of the rows that lie so far ahead in each part cannot lie behind the offset.
      const skip = Math.floor(left / (partCount * caution));
      const ask: PartAsk = { kind: 'rows', from, skip, limit: 1, without: null };
      const replies: PartReplies = await this.#ask([ask]);
      const probes = replies.all(0, 'rows');
      if (sum(probes.map(({ size }) => size)) <= offset) return 'behind the end';
      const next: Position | undefined = mergedRows(probes.map(({ rows }) => rows))[0];
      if (next === undefined || (from !== null && comparePositions(next, from) <= 0)) {
        caution *= 2;
        continue;
      }
      from = next;
      if (partCount === 1) return { from, left: 0 };
      const counts = await this.#ask([{ kind: 'count', before: [next], without: null }]);
      left = offset - sum(counts.all(0, 'count').map(({ before }) => before[0]!));
      if (left < 0) return 'moved';
    }
    return { from, left };
  }

  #standingAsks(rows: readonly (LocatedMember | null)[], members: readonly string[]): PartAsk[] {
    const shown = rows.filter((row) => row !== null && !row.isHidden) as LocatedMember[];
    const before = shown.flatMap((row) => this.#boundsOf(row));
    const asks: PartAsk[] = [
      { kind: 'count', before, without: null },
      { kind: 'locate', members },
    ];
    if (this.#board.document.settings.ties !== 'dense') return asks;
    return [...asks, ...shown.map(({ key }) => this.#levelsBelow(key))];
  }

  /** What stands before the first ranks better; what does not stand before the second, worse. */
  #boundsOf(row: Position): [Position, Position] {
    const hasTime = this.#board.document.settings.ties === 'earliest';
    return hasTime ? [row, after(row)] : [beforeTies(row.key), afterTies(row.key)];
  }

  /**
   * The members asked for count by the rows that are shown, all others by those of the last round:
   * so ranks agree with the rows, also when a member moved in between.
   */
  #countedStandings(replies: PartReplies, rows: readonly (LocatedMember | null)[]): Standings {
    const shown = rows.filter((row) => row !== null && !row.isHidden) as LocatedMember[];
    const counts = replies.all(0, 'count');
    const located = replies.all(1, 'locate').flatMap(({ members }) => members);
    const now = located.filter((row) => row !== null && !row.isHidden) as LocatedMember[];
    const nowSorted = now.toSorted(comparePositions);
    const shownSorted = shown.toSorted(comparePositions);
    const size = sum(counts.map((part) => part.size)) - now.length + shown.length;
    const countBefore = (position: Position, index: number): number =>
      sum(counts.map(({ before }) => before[index]!)) -
      countLess(nowSorted, position) +
      countLess(shownSorted, position);
    let at = 0;
    const standings = rows.map((row): Standing | null => {
      if (row === null || row.isHidden) return row && { row, rank: null, below: null };
      const [best, worst] = this.#boundsOf(row);
      const rank = 1 + countBefore(best, at);
      const below = size - countBefore(worst, at + 1);
      at += 2;
      return { row, rank, below };
    });
    return { replies, size, standings };
  }

  #denseStandings(replies: PartReplies, rows: readonly (LocatedMember | null)[]): Standings {
    const counts = replies.all(0, 'count');
    const size = sum(counts.map((part) => part.size));
    let at = 0;
    const standings = rows.map((row): Standing | null => {
      if (row === null || row.isHidden) return row && { row, rank: null, below: null };
      const index = 2 * at + 1;
      const below = size - sum(counts.map(({ before }) => before[index]!));
      const rank = 1 + this.#levelCount(replies, 2 + at, row.key);
      at += 1;
      return { row, rank, below };
    });
    return { replies, size, standings };
  }

  #rowsOf(
    replies: PartReplies,
    index: number,
    members: readonly string[],
  ): (LocatedMember | null)[] {
    const parts = replies.all(index, 'locate');
    return members.map((_, at) => {
      return parts.map((part) => part.members[at] ?? null).find((row) => row !== null) ?? null;
    });
  }

  /** On one part their number is enough; over several they have to be told apart. */
  #levelsBelow(below: number): PartAsk {
    const isSplit = livingParts(this.#board.document.layout).length > 1;
    return { kind: 'levels', below, limit: isSplit ? DENSE_LEVELS_MAX : 0 };
  }

  #levelCount(replies: PartReplies, index: number, below: number): number {
    const parts = replies.all(index, 'levels');
    if (parts.length === 1) return parts[0]!.count;
    if (parts.some(({ count }) => count > DENSE_LEVELS_MAX)) {
      const message =
        `over several parts dense ranks are told as long as at most ${DENSE_LEVELS_MAX} ` +
        'different scores are better';
      throw new BoardRefusedError('dense_ranks_too_large', message);
    }
    const levels = new Set(parts.flatMap(({ keys }) => keys));
    return [...levels].filter((key) => key < below).length;
  }

  #ask(asks: readonly PartAsk[]): Promise<PartReplies> {
    return this.#parts.ask(this.#board, this.#season, asks);
  }
}

interface RankBase {
  readonly from: Position | null;
  /** Rows before `from`; those of them with a better key; different better keys. */
  readonly start: number;
  readonly better: number;
  readonly levels: number;
  readonly ties: 'earliest' | 'competition' | 'dense';
}

function rankRows(rows: readonly PartRow[], base: RankBase): RankedRow[] {
  const { from, start, better, levels, ties } = base;
  // Of the key at which the rows begin some may stand before them.
  const areTiesBefore = from !== null && start > better;
  let level = levels + (areTiesBefore && rows[0]?.key !== from.key ? 1 : 0);
  let rank = 0;
  return rows.map((row, index) => {
    const isTied = index > 0 && rows[index - 1]!.key === row.key;
    if (!isTied) {
      level += 1;
      rank = index === 0 && from?.key === row.key ? better + 1 : start + index + 1;
    }
    if (ties === 'earliest') return { ...row, rank: start + index + 1 };
    return { ...row, rank: ties === 'dense' ? level : rank };
  });
}

/** Rows of a member elsewhere cannot be there: parts have left it out. */
function insert(rows: PartRow[], row: PartRow): void {
  const at = rows.findIndex((other) => comparePositions(other, row) > 0);
  rows.splice(at === -1 ? rows.length : at, 0, row);
}

/** How many of sorted rows lie before a place. */
function countLess(sorted: readonly Position[], position: Position): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (comparePositions(sorted[middle]!, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isSameRow(a: LocatedMember | null, b: LocatedMember | null): boolean {
  if (a === null || b === null) return a === b;
  return comparePositions(a, b) === 0 && a.isHidden === b.isHidden;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function changing(): StoreUnavailableError {
  return new StoreUnavailableError('the board changes faster than it can be read: try again');
}
