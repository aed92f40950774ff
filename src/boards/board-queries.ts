/** The questions about boards, answered from what `season-reader.ts` reads. */
import type {
  BoardFrame,
  BoardRow,
  HistogramBucket,
  MemberAnswer,
  PageAnswer,
  RanksAnswer,
  StatsAnswer,
} from './answers.ts';
import { BoardRefusedError } from './board-errors.ts';
import type { BoardRegistry, KnownBoard } from './board-registry.ts';
import { askedSeason } from './board-seasons.ts';
import type { PageAsked, SeasonAsked } from './boards.ts';
import { type Cursor, encodeCursor, parseCursor } from './cursor.ts';
import { OutdatedBoardError, type PartReader, type PartReplies } from './part-reader.ts';
import type { PartWriter } from './part-writer.ts';
import { after, memberOf } from './row-order.ts';
import { keyOf, scaledText, scoreOf } from './scores.ts';
import { type RankedRow, SeasonReader, type Stretch } from './season-reader.ts';
import type { PartRow, SeasonAt } from './store-port.ts';

/** Each comes with a newer document. */
const ATTEMPTS_MAX = 20;

export interface BoardQueriesOptions {
  readonly parts: PartReader;
  readonly registry: BoardRegistry;
  readonly writer: PartWriter;
}

/** A board, a season of it, and who reads it. */
interface Reading {
  readonly board: KnownBoard;
  readonly season: SeasonAt;
  readonly reader: SeasonReader;
}

export class BoardQueries {
  readonly #options: BoardQueriesOptions;

  constructor(options: BoardQueriesOptions) {
    this.#options = options;
  }

  page(name: string, asked: PageAsked): Promise<PageAnswer> {
    const cursor = asked.cursor === null ? null : parseCursor(asked.cursor);
    const season = cursor === null ? asked : { view: cursor.view, season: cursor.season };
    return this.#read(name, season, async (reading) => {
      const stretch = await this.#stretch(reading, asked, cursor);
      return pageAnswer(reading, stretch, asked.k);
    });
  }

  around(name: string, member: string, asked: SeasonAsked & { n: number }): Promise<PageAnswer> {
    return this.#read(name, asked, async (reading) => {
      const stretch = await reading.reader.around(member, asked.n);
      if (stretch === null) throw memberNotFound(member);
      return pageAnswer(reading, stretch, asked.n);
    });
  }

  member(name: string, member: string, asked: SeasonAsked): Promise<MemberAnswer> {
    return this.#read(name, asked, async (reading) => {
      const { replies, size, standings } = await reading.reader.standings([member]);
      const [standing = null] = standings;
      if (standing === null) throw memberNotFound(member);
      const { row, rank, below } = standing;
      return {
        ...frameOf(reading, replies, size),
        member,
        score: scoreIn(reading, row),
        rank,
        percentile: below === null ? null : (100 * below) / size,
        isHidden: row.isHidden,
        meta: row.meta,
      };
    });
  }

  ranks(name: string, members: readonly string[], asked: SeasonAsked): Promise<RanksAnswer> {
    return this.#read(name, asked, async (reading) => {
      const { replies, size, standings } = await reading.reader.standings(members);
      const ranks = standings.map((standing) => standing?.rank ?? null);
      const sorted = ranks.filter((rank) => rank !== null).sort((a, b) => a - b);
      return {
        ...frameOf(reading, replies, size),
        members: members.map((member, index) => {
          const standing = standings[index] ?? null;
          const rank = standing?.rank ?? null;
          return {
            member,
            score: standing === null ? null : scoreIn(reading, standing.row),
            rank,
            place: rank === null ? null : sorted.indexOf(rank) + 1,
            meta: standing?.row.meta ?? null,
          };
        }),
      };
    });
  }

  stats(name: string, asked: SeasonAsked & { buckets: number }): Promise<StatsAnswer> {
    return this.#read(name, asked, async (reading) => {
      const first = await reading.reader.stats([]);
      const edges = bucketEdges(rangeOf(first.parts), asked.buckets);
      const { order, decimals } = reading.board.document.settings;
      const isDescending = order === 'descending';
      const { replies, parts } = await reading.reader.stats(countedEdges(edges, isDescending));
      const size = parts.reduce((total, part) => total + part.size, 0);
      const sum = parts.reduce((total, part) => total + part.sum, 0n);
      const range = rangeOf(parts);
      const scores = range === null ? null : range.map((key) => scoreIn(reading, { key }));
      const counts = edges
        .slice(1)
        .map((_, index) => parts.reduce((total, part) => total + part.counts[index]!, 0));
      const histogram = edges.slice(1).map((to, index): HistogramBucket => {
        const bounds = [scoreIn(reading, { key: edges[index]! }), scoreIn(reading, { key: to })];
        return { from: Math.min(...bounds), to: Math.max(...bounds), count: counts[index]! };
      });
      return {
        ...frameOf(reading, replies, size),
        sum: scaledText(isDescending ? -sum : sum, decimals),
        min: scores === null ? null : Math.min(...scores),
        max: scores === null ? null : Math.max(...scores),
        histogram: isDescending ? histogram.reverse() : histogram,
      };
    });
  }

  async #stretch({ reader }: Reading, asked: PageAsked, cursor: Cursor | null): Promise<Stretch> {
    const { k, offset } = asked;
    if (cursor === null) return reader.fromOffset(offset, k + 1);
    if (cursor.direction === 'after') return reader.fromPosition(after(cursor.at), k + 1);
    return reader.fromPosition(await reader.positionBefore(cursor.at, k), k + 1);
  }

  /** With the document that fits the parts; `read` may be begun several times. */
  async #read<T>(
    name: string,
    asked: SeasonAsked,
    read: (reading: Reading) => Promise<T>,
  ): Promise<T> {
    const { parts, registry, writer } = this.#options;
    let board = await registry.find(name);
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      if (board === null || board.document.isDeleted) throw boardNotFound(name);
      // Not one part of it is open yet.
      if (board.document.layout.parts.length > 0) {
        const season = askedSeason(board, asked, writer.nowMs());
        const reader = new SeasonReader(parts, board, season);
        try {
          return await read({ board, season, reader });
        } catch (error) {
          if (!(error instanceof OutdatedBoardError)) throw error;
        }
      }
      board = await parts.renewed(board);
    }
    throw new OutdatedBoardError(`the parts of ${JSON.stringify(name)} change all the time`);
  }
}

export function boardNotFound(name: string): BoardRefusedError {
  return new BoardRefusedError('board_not_found', `there is no board ${JSON.stringify(name)}`);
}

export function memberNotFound(member: string): BoardRefusedError {
  const message = `the board has no member ${JSON.stringify(member)} to show`;
  return new BoardRefusedError('member_not_found', message);
}

function frameOf({ board, season }: Reading, replies: PartReplies, of: number): BoardFrame {
  return {
    board: board.name,
    view: season.view,
    season: season.id,
    endsAtMs: season.endsAtMs,
    asOfMs: replies.nowMs,
    of,
    shards: board.document.layout.parts.length,
    missing: replies.missing,
  };
}

/** The stretch may hold one row more than the page, which tells whether there is a next one. */
function pageAnswer(reading: Reading, stretch: Stretch, k: number): PageAnswer {
  const { board, season } = reading;
  const rows = stretch.rows.slice(0, k);
  const [first] = rows;
  const last = rows.at(-1);
  const { ties } = board.document.settings;
  const cursorAt = (direction: Cursor['direction'], { key, element }: PartRow): string =>
    encodeCursor({ direction, view: season.view, season: season.id, at: { key, element } });
  const isLast = stretch.start + rows.length >= stretch.size;
  return {
    ...frameOf(reading, stretch.replies, stretch.size),
    entries: rows.map((row): BoardRow => entryOf(reading, row, ties)),
    next: last === undefined || isLast ? null : cursorAt('after', last),
    previous: first === undefined || stretch.start === 0 ? null : cursorAt('before', first),
  };
}

function entryOf(
  reading: Reading,
  { rank, key, element, meta }: RankedRow,
  ties: KnownBoard['document']['settings']['ties'],
): BoardRow {
  return { rank, member: memberOf(element, ties), score: scoreIn(reading, { key }), meta };
}

function scoreIn({ board }: Reading, { key }: { readonly key: number }): number {
  const { order, decimals } = board.document.settings;
  return scoreOf(keyOf(key, order), decimals);
}

/** First and last key over all parts; null: no part has any. */
function rangeOf(
  parts: readonly { readonly firstKey: number | null; readonly lastKey: number | null }[],
): [number, number] | null {
  const firsts = parts.flatMap(({ firstKey }) => (firstKey === null ? [] : [firstKey]));
  const lasts = parts.flatMap(({ lastKey }) => (lastKey === null ? [] : [lastKey]));
  return firsts.length === 0 ? null : [Math.min(...firsts), Math.max(...lasts)];
}

/** Ascending keys at which buckets of about the same width begin and the last one ends. */
function bucketEdges(range: [number, number] | null, buckets: number): number[] {
  if (range === null) return [];
  const [first, last] = range;
  const edges = Array.from({ length: buckets + 1 }, (_, index) =>
    Math.round(first + ((last - first) / buckets) * index),
  );
  return [...new Set([...edges.slice(0, -1), Math.max(last, first + 1)])];
}

/**
 * Keys that came in beyond the edges meanwhile are counted in the outer buckets. A bucket has the
 * lower of its scores, not the upper one: where scores are negated, that is the upper key.
 */
function countedEdges(edges: readonly number[], isDescending: boolean): number[] {
  if (edges.length === 0) return [];
  const inner = edges.slice(1, -1).map((edge) => (isDescending ? edge + 1 : edge));
  return [-Number.MAX_SAFE_INTEGER, ...inner, Number.MAX_SAFE_INTEGER + 1];
}
