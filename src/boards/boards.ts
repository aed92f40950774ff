/**
 * The boards room, as `api`, `workers` and `cli` see it. Every method may reject with
 * BoardRefusedError, StoreUnavailableError; writing ones also with OutcomeUnknownError: the same
 * request with its ids or its key is safe.
 */
import type {
  MemberAnswer,
  PageAnswer,
  RanksAnswer,
  ScoresAnswer,
  StatsAnswer,
} from './answers.ts';
import type { BoardSettings, SettingsInput } from './settings.ts';

export interface ScoreEntry {
  readonly member: string;
  /** In mode increment. */
  readonly by?: number | undefined;
  /** In modes best and last. */
  readonly score?: number | undefined;
  readonly id?: string | undefined;
}

export interface ScoresInput {
  /** At most ENTRIES_MAX. */
  readonly entries: readonly ScoreEntry[];
  /** `fingerprint`: 22 characters of the body. */
  readonly key: { readonly key: string; readonly fingerprint: string } | null;
  readonly withRanks: boolean;
}

export interface SeasonAsked {
  readonly view: string;
  /** Null: the current one. */
  readonly season: string | null;
}

/** One page by its place or by a cursor that an earlier page gave. */
export interface PageAsked extends SeasonAsked {
  readonly k: number;
  readonly offset: number;
  readonly cursor: string | null;
}

export interface MemberChangeInput {
  readonly isHidden?: boolean | undefined;
  /** JSON text of at most META_BYTES_MAX; null: none any more. */
  readonly meta?: string | null | undefined;
}

export interface SeasonListed {
  readonly view: string;
  readonly id: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number | null;
  readonly isCurrent: boolean;
}

export interface BoardDescription {
  readonly board: string;
  readonly settings: BoardSettings;
  readonly createdAtMs: number;
  readonly shards: number;
  /** While parts move: how many there will be. */
  readonly movingTo: number | null;
  /** Those that can be read, the newest first. */
  readonly seasons: readonly SeasonListed[];
}

export interface BoardListing {
  readonly boards: readonly { readonly board: string; readonly shards: number }[];
  /** The last name of a page that is not the last one; ask with it as `after`. */
  readonly next: string | null;
}

export interface Boards {
  /** In the order of the names' bytes. */
  list(asked: { readonly after: string | null; readonly limit: number }): Promise<BoardListing>;
  describe(board: string): Promise<BoardDescription>;
  /** Makes it, or changes what may be changed. Says whether it was made. */
  put(
    board: string,
    input: SettingsInput,
  ): Promise<{ readonly isNew: boolean; readonly description: BoardDescription }>;
  /** Once it resolves, what was acknowledged before is gone. False: there was none. */
  remove(board: string): Promise<boolean>;
  /** Announces the move and carries it on in the background, or by the worker. */
  setShards(board: string, shards: number): Promise<BoardDescription>;

  /** Makes the board with default settings if there is none. */
  post(board: string, input: ScoresInput): Promise<ScoresAnswer>;
  changeMember(board: string, member: string, change: MemberChangeInput): Promise<void>;
  removeMember(board: string, member: string): Promise<void>;

  page(board: string, asked: PageAsked): Promise<PageAnswer>;
  member(board: string, member: string, asked: SeasonAsked): Promise<MemberAnswer>;
  /** `n` rows around the member, itself among them; the window slides at the ends. */
  around(board: string, member: string, asked: SeasonAsked & { n: number }): Promise<PageAnswer>;
  /** At most RANKS_MAX. */
  ranks(board: string, members: readonly string[], asked: SeasonAsked): Promise<RanksAnswer>;
  /** `buckets`: at most BUCKETS_MAX. */
  stats(board: string, asked: SeasonAsked & { buckets: number }): Promise<StatsAnswer>;
  /** Another text after every change of the board's document: for the keys of caches. */
  version(board: string): Promise<string>;
}
