/** The facade of the room: what changes boards, and the way to its questions. */
import type { TagSource } from '../lib/random-tag.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { announced, firstLayout, isPartCount, PARTS_MAX, routeOf } from '../shards/layout.ts';
import type {
  MemberAnswer,
  PageAnswer,
  RanksAnswer,
  ScoresAnswer,
  StatsAnswer,
} from './answers.ts';
import type { BoardDocument } from './board-document.ts';
import { BoardRefusedError } from './board-errors.ts';
import type { BoardMover } from './board-mover.ts';
import { type BoardQueries, boardNotFound, memberNotFound } from './board-queries.ts';
import type { BoardRegistry, KnownBoard } from './board-registry.ts';
import { keptSeasons } from './board-seasons.ts';
import type {
  BoardDescription,
  BoardListing,
  Boards,
  MemberChangeInput,
  PageAsked,
  ScoresInput,
  SeasonAsked,
} from './boards.ts';
import type { PartWriter } from './part-writer.ts';
import type { ScoreWriter } from './score-writer.ts';
import { changedSettings, DEFAULT_SETTINGS, newSettings, type SettingsInput } from './settings.ts';
import { ALL_TIME, type BoardStore, type MemberChange } from './store-port.ts';

/** Each comes with a newer document, or with a chunk that is carried on. */
const ATTEMPTS_MAX = 50;
const ALL_TIME_ASKED = { view: ALL_TIME, season: null } as const;

export interface BoardsFacadeOptions {
  readonly store: BoardStore;
  readonly registry: BoardRegistry;
  readonly mover: BoardMover;
  readonly scores: ScoreWriter;
  readonly queries: BoardQueries;
  readonly writer: PartWriter;
  readonly tags: TagSource;
  readonly hash: KeyedHash;
  readonly onWrites: (board: string, entries: number) => void;
}

export class BoardsFacade implements Boards {
  readonly #options: BoardsFacadeOptions;

  constructor(options: BoardsFacadeOptions) {
    this.#options = options;
  }

  async list({ after, limit }: { after: string | null; limit: number }): Promise<BoardListing> {
    const { registry } = this.#options;
    const names = await registry.names();
    const start = after === null ? 0 : names.findIndex((name) => compareUtf8(name, after) > 0);
    const page = start === -1 ? [] : names.slice(start, start + limit);
    const boards = await registry.readAll(page);
    const isLast = start === -1 || start + limit >= names.length;
    return {
      boards: boards.flatMap((board) =>
        board === null || board.document.isDeleted
          ? []
          : [{ board: board.name, shards: shardsOf(board.document) }],
      ),
      next: isLast ? null : page.at(-1)!,
    };
  }

  async describe(name: string): Promise<BoardDescription> {
    await this.#options.registry.reread(name);
    return this.#describe(await this.#existing(name));
  }

  async put(
    name: string,
    input: SettingsInput,
  ): Promise<{ isNew: boolean; description: BoardDescription }> {
    const { registry } = this.#options;
    const found = await registry.reread(name);
    if (found === null || found.document.isDeleted) {
      const board = await this.#create(name, input);
      return { isNew: true, description: this.#describe(board) };
    }
    const changed = await registry.change(name, (before) => {
      if (before === null || before.isDeleted) throw boardNotFound(name);
      const settings = changedSettings(before.settings, input);
      return JSON.stringify(settings) === JSON.stringify(before.settings)
        ? before
        : { ...before, settings };
    });
    return { isNew: false, description: this.#describe(changed!) };
  }

  async remove(name: string): Promise<boolean> {
    const { registry, mover } = this.#options;
    const marked = await registry.change(name, (before) =>
      before === null || before.isDeleted ? before : { ...before, isDeleted: true },
    );
    if (marked === null) return false;
    await mover.drop(marked);
    return true;
  }

  async setShards(name: string, shards: number): Promise<BoardDescription> {
    const { registry, mover, store, tags } = this.#options;
    if (!isPartCount(shards)) {
      const message = `must be a power of two from 1 to ${PARTS_MAX}`;
      throw new BoardRefusedError('invalid_shards', message, { parameter: 'shards' });
    }
    const board = await registry.change(name, (before) => {
      if (before === null || before.isDeleted) throw boardNotFound(name);
      const { layout } = before;
      const count = layout.parts.length;
      if (layout.move === null && count === shards) return before;
      if (layout.move !== null) {
        throw new BoardRefusedError('move_under_way', 'parts are being moved: try again later');
      }
      if (shards !== 2 * count && 2 * shards !== count) {
        const message = `from ${count} the next steps are ${2 * count} and ${count / 2}`;
        throw new BoardRefusedError('invalid_shards', message, { parameter: 'shards' });
      }
      const parts =
        shards > count
          ? [...layout.parts, ...store.newParts(count, layout.parts)]
          : layout.parts.slice(0, shards);
      return { ...before, layout: announced(layout, tags(), parts) };
    });
    // The worker carries it on where this process cannot.
    if (board!.document.layout.move !== null) mover.run(name).catch(() => undefined);
    return this.#describe(board!);
  }

  async post(name: string, input: ScoresInput): Promise<ScoresAnswer> {
    const { scores, onWrites } = this.#options;
    const answer = await scores.post(() => this.#opened(name, input), input);
    onWrites(name, input.entries.length);
    const unknown = answer.results.filter(
      ({ isDuplicate, score }) => isDuplicate && score === null,
    );
    if (!input.withRanks && unknown.length === 0) return answer;
    const asked = input.withRanks ? answer.results : unknown;
    const members = [...new Set(asked.map(({ member }) => member))];
    const standings = await this.#standings(name, members);
    const results = answer.results.map((result) => {
      const found = standings.get(result.member);
      const score = found?.score ?? result.score;
      return input.withRanks
        ? { ...result, score, rank: found?.rank ?? null }
        : { ...result, score };
    });
    return { ...answer, results };
  }

  changeMember(name: string, member: string, change: MemberChangeInput): Promise<void> {
    return this.#edit(name, member, { kind: 'change', ...change });
  }

  removeMember(name: string, member: string): Promise<void> {
    return this.#edit(name, member, { kind: 'delete' });
  }

  page(name: string, asked: PageAsked): Promise<PageAnswer> {
    return this.#options.queries.page(name, asked);
  }

  member(name: string, member: string, asked: SeasonAsked): Promise<MemberAnswer> {
    return this.#options.queries.member(name, member, asked);
  }

  around(name: string, member: string, asked: SeasonAsked & { n: number }): Promise<PageAnswer> {
    return this.#options.queries.around(name, member, asked);
  }

  ranks(name: string, members: readonly string[], asked: SeasonAsked): Promise<RanksAnswer> {
    return this.#options.queries.ranks(name, members, asked);
  }

  stats(name: string, asked: SeasonAsked & { buckets: number }): Promise<StatsAnswer> {
    return this.#options.queries.stats(name, asked);
  }

  async version(name: string): Promise<string> {
    return (await this.#existing(name)).tag;
  }

  /** Some at a time, as many as may be asked for at once. */
  async #standings(
    name: string,
    members: readonly string[],
  ): Promise<Map<string, { score: number | null; rank: number | null }>> {
    const found = new Map<string, { score: number | null; rank: number | null }>();
    for (let start = 0; start < members.length; start += RANKS_SLICE) {
      const slice = members.slice(start, start + RANKS_SLICE);
      const { members: ranked } = await this.ranks(name, slice, ALL_TIME_ASKED);
      for (const { member, score, rank } of ranked) found.set(member, { score, rank });
    }
    return found;
  }

  async #edit(name: string, member: string, change: MemberChange): Promise<void> {
    const { store, mover, registry, hash, writer, tags } = this.#options;
    let board = await this.#existing(name);
    let absentFrom: string | null = null;
    let nowMs = writer.nowMs();
    const callId = tags();
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const { layout, settings } = board.document;
      hash.hashString(member);
      const { home, source } = routeOf(layout, hash.lo);
      const part: string = source === null || source === absentFrom ? home : source;
      const rules = { mode: settings.mode, ties: settings.ties };
      const seasons = keptSeasons(board, nowMs);
      const edit = { callId, member, change, seasons };
      const outcome = await store.edit({ part, epoch: layout.epoch, rules }, edit);
      switch (outcome.kind) {
        case 'edited':
          return;
        case 'absent':
          if (part === home) throw memberNotFound(member);
          absentFrom = part;
          break;
        case 'frozen':
          await mover.carryChunk(board, part);
          break;
        case 'other_season':
          nowMs = outcome.nowMs;
          break;
        case 'stale':
        case 'gone':
          absentFrom = null;
          await registry.reread(name).then((now) => now && mover.settle(now));
          board = await this.#existing(name);
      }
    }
    throw new StoreUnavailableError('the parts of the board change all the time');
  }

  async #existing(name: string): Promise<KnownBoard> {
    const board = await this.#options.registry.find(name);
    if (board === null || board.document.isDeleted) throw boardNotFound(name);
    return board.document.layout.parts.length > 0 ? board : this.#settled(board);
  }

  /** What is refused makes no board. */
  async #opened(name: string, { entries }: ScoresInput): Promise<KnownBoard> {
    const { registry, scores } = this.#options;
    const board = await registry.find(name);
    if (board !== null && !board.document.isDeleted) return board;
    scores.check(DEFAULT_SETTINGS, entries);
    return this.#create(name, {});
  }

  /** With its first parts open; whoever makes it first settles what is set. */
  async #create(name: string, input: SettingsInput): Promise<KnownBoard> {
    const { registry, mover, store, tags, writer } = this.#options;
    const settings = newSettings(input);
    const old = await registry.reread(name);
    if (old?.document.isDeleted === true) await mover.drop(old);
    const board = await registry.change(name, (before) => {
      if (before !== null) return before;
      const layout = firstLayout(tags(), store.newParts(1, []));
      const createdAtMs = writer.nowMs();
      return { generation: tags(), createdAtMs, settings, layout, isDeleted: false };
    });
    return this.#settled(board!);
  }

  async #settled(board: KnownBoard): Promise<KnownBoard> {
    await this.#options.mover.settle(board);
    const now = await this.#options.registry.reread(board.name);
    if (now === null || now.document.isDeleted) throw boardNotFound(board.name);
    return now;
  }

  #describe(board: KnownBoard): BoardDescription {
    const { settings, createdAtMs, layout } = board.document;
    const nowMs = this.#options.writer.nowMs();
    return {
      ...{ board: board.name, settings, createdAtMs, shards: shardsOf(board.document) },
      movingTo: layout.move === null || layout.parts.length === 0 ? null : layout.move.parts.length,
      seasons: keptSeasons(board, nowMs).map(({ view, id, startsAtMs, endsAtMs }) => ({
        ...{ view, id, startsAtMs, endsAtMs },
        isCurrent: startsAtMs <= nowMs && (endsAtMs === null || nowMs < endsAtMs),
      })),
    };
  }
}

const RANKS_SLICE = 500;

function shardsOf({ layout }: BoardDocument): number {
  return layout.parts.length === 0 ? (layout.move?.parts.length ?? 0) : layout.parts.length;
}
