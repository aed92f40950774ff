/**
 * Asks all parts of a board the same questions, such that every member is counted in exactly one
 * place: while members move, a target is read before its source, and the source refuses a reader
 * that has not seen all it gave away.
 */
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { livingParts, movePairs } from '../shards/layout.ts';
import type { BoardMover } from './board-mover.ts';
import type { BoardRegistry, KnownBoard } from './board-registry.ts';
import type { BoardStore, PartAnswer, PartAsk, ReadOutcome, SeasonAt } from './store-port.ts';

/** A source and its target are asked again while the mover is faster. */
const ATTEMPTS_MAX = 50;

type OfKind<Kind extends PartAnswer['kind']> = Extract<PartAnswer, { kind: Kind }>;

/** What the parts answered, those that could be read. */
export class PartReplies {
  readonly nowMs: number;
  readonly missing: readonly string[];
  readonly #answers: readonly (readonly PartAnswer[])[];

  constructor(nowMs: number, missing: readonly string[], answers: (readonly PartAnswer[])[]) {
    this.nowMs = nowMs;
    this.missing = missing;
    this.#answers = answers;
  }

  /** Of every part the answer to the ask with that index. */
  all<Kind extends PartAnswer['kind']>(index: number, kind: Kind): OfKind<Kind>[] {
    return this.#answers.map((answers) => {
      const answer = answers[index];
      if (answer?.kind !== kind) throw new StoreUnavailableError('a part gave no fitting answer');
      return answer as OfKind<Kind>;
    });
  }
}

/** The document is older than the parts: read it again, and ask again. */
export class OutdatedBoardError extends Error {
  override readonly name = 'OutdatedBoardError';
}

interface PartReply {
  readonly part: string;
  readonly outcome: Extract<ReadOutcome, { kind: 'read' }> | null;
  /** Why it could not be read. */
  readonly failure?: StoreUnavailableError;
}

export interface PartReaderOptions {
  readonly store: BoardStore;
  readonly registry: BoardRegistry;
  readonly mover: BoardMover;
}

export class PartReader {
  readonly #options: PartReaderOptions;

  constructor(options: PartReaderOptions) {
    this.#options = options;
  }

  /** Rejects with OutdatedBoardError, or StoreUnavailableError when no part can be read. */
  async ask(board: KnownBoard, season: SeasonAt, asks: readonly PartAsk[]): Promise<PartReplies> {
    const { layout } = board.document;
    const pairs = movePairs(layout);
    const paired = new Set(pairs.flatMap(({ source, target }) => [source, target]));
    const alone = livingParts(layout).filter((part) => !paired.has(part));
    const replies = await Promise.all([
      ...alone.map(async (part) => [await this.#one(board, season, asks, part, null)]),
      ...pairs.map(({ source, target }) => this.#pair(board, season, asks, source, target)),
    ]);
    return this.#collect(board, replies.flat());
  }

  /** For what was met, the document that fits. */
  async renewed(board: KnownBoard): Promise<KnownBoard | null> {
    const { registry, mover } = this.#options;
    const now = await registry.reread(board.name);
    if (now?.document.layout.move?.stage !== 'announced') return now;
    await mover.settle(now);
    return registry.reread(board.name);
  }

  async #pair(
    board: KnownBoard,
    season: SeasonAt,
    asks: readonly PartAsk[],
    source: string,
    target: string,
  ): Promise<PartReply[]> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const first = await this.#one(board, season, asks, target, null);
      if (first.outcome === null) {
        // What the source still counts may have been admitted by a target nobody can read.
        return [first, { part: source, outcome: null }];
      }
      const second = await this.#source(board, season, asks, source, first.outcome.admitted);
      if (second !== 'behind') return [first, second];
    }
    throw new StoreUnavailableError('members move faster than they can be read');
  }

  async #source(
    board: KnownBoard,
    season: SeasonAt,
    asks: readonly PartAsk[],
    part: string,
    admitted: number,
  ): Promise<PartReply | 'behind'> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const outcome = await this.#read(board, season, asks, part, admitted);
      if (outcome instanceof StoreUnavailableError) {
        return { part, outcome: null, failure: outcome };
      }
      if (outcome.kind === 'read') return { part, outcome };
      if (outcome.kind === 'behind') return 'behind';
      if (outcome.kind !== 'unreleased') throw new OutdatedBoardError(outcome.kind);
      // Not only released: that it is admitted has to be on the replicas first.
      await this.#options.mover.carryChunk(board, part);
    }
    return 'behind';
  }

  async #one(
    board: KnownBoard,
    season: SeasonAt,
    asks: readonly PartAsk[],
    part: string,
    admitted: number | null,
  ): Promise<PartReply> {
    const outcome = await this.#read(board, season, asks, part, admitted);
    if (outcome instanceof StoreUnavailableError) return { part, outcome: null, failure: outcome };
    if (outcome.kind !== 'read') throw new OutdatedBoardError(outcome.kind);
    return { part, outcome };
  }

  /** An error: the part cannot be read now. */
  async #read(
    { document }: KnownBoard,
    season: SeasonAt,
    asks: readonly PartAsk[],
    part: string,
    admitted: number | null,
  ): Promise<ReadOutcome | StoreUnavailableError> {
    const { layout, settings } = document;
    const rules = { mode: settings.mode, ties: settings.ties };
    const at = { part, epoch: layout.epoch, rules };
    try {
      return await this.#options.store.read(at, { season, admitted, asks });
    } catch (error) {
      if (error instanceof StoreUnavailableError) return error;
      throw error;
    }
  }

  #collect({ document }: KnownBoard, replies: readonly PartReply[]): PartReplies {
    const order = livingParts(document.layout);
    const read = replies.flatMap(({ outcome }) => (outcome === null ? [] : [outcome]));
    if (read.length === 0) {
      const cause = replies.find(({ failure }) => failure !== undefined)?.failure;
      throw new StoreUnavailableError('no part of the board can be read', { cause });
    }
    const missing = replies
      .filter(({ outcome }) => outcome === null)
      .map(({ part }) => `shard ${order.indexOf(part)}`);
    const nowMs = Math.min(...read.map((outcome) => outcome.nowMs));
    return new PartReplies(
      nowMs,
      missing,
      read.map(({ answers }) => answers),
    );
  }
}
