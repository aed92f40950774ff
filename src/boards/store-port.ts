/**
 * The port of boards: one part of a board, which is one atomic place. A part keeps the members that
 * belong to it, in one sorted set for each season of each view, the ids of what was applied to it,
 * and how far it is in a move. A board is made of parts by `src/shards/layout.ts`.
 *
 * Inside of parts there is one order, ascending by (key, element). A `key` is a safe integer: the
 * scaled score, negated where the highest score leads. An `element` is what ties are ordered by, as
 * a text of bytes (each character is one byte, latin1): with ties `earliest` 9 bytes of the time
 * at which the score was reached, then the member's UTF-8; else the member's UTF-8 alone.
 *
 * Every call carries the caller's epoch. A part of another epoch does nothing and answers `stale`,
 * one that is not there `gone`; the same call, sent again, is applied once. Any method may reject
 * with StoreUnavailableError (nothing was applied), writing ones also with OutcomeUnknownError.
 */
import type { Tag } from '../lib/random-tag.ts';

export const TIME_BYTES = 9;
/** The view that is always there, and the id of its only season. */
export const ALL_TIME = 'all';

export type ScoreMode = 'increment' | 'best' | 'last';
export type TieRule = 'earliest' | 'competition' | 'dense';

/** What a part must know of its board; it never changes. */
export interface PartRules {
  readonly mode: ScoreMode;
  readonly ties: TieRule;
}

/** A part of a board at an epoch. */
export interface PartAt {
  readonly part: Tag;
  readonly epoch: Tag;
  readonly rules: PartRules;
}

export interface SeasonAt {
  readonly view: string;
  readonly id: string;
  readonly startsAtMs: number;
  /** Null: never (all-time). */
  readonly endsAtMs: number | null;
  /** When its sets may go; null: never. */
  readonly expiresAtMs: number | null;
}

export interface Position {
  readonly key: number;
  /** '' is before all ties of the key. */
  readonly element: string;
}

export type Refusal =
  | { readonly kind: 'stale'; readonly epoch: Tag }
  | { readonly kind: 'gone' }
  /** By the store's clock one of the seasons is another one. Nothing was done. */
  | { readonly kind: 'other_season'; readonly nowMs: number };

export interface PartEntry {
  readonly member: string;
  /** By mode: what to add to the key, or the key itself (the lower one is the better). */
  readonly value: number;
  /** Of this increment, already made unique to its member; null: it has none. */
  readonly id: string | null;
  /** Its place in the batch of a key. */
  readonly index: number;
  /** False: the part is the source of a move, where nobody is made any more. */
  readonly mayCreate: boolean;
}

export interface BatchKey {
  readonly key: string;
  /** Of the body; 22 characters. */
  readonly fingerprint: string;
  /** Entries of the whole batch, over all parts. */
  readonly size: number;
}

/** One request of a client, as far as this part is concerned. */
export interface PartRequest {
  readonly key: BatchKey | null;
  /** Whether one entry out of range refuses the whole request. */
  readonly atomic: boolean;
  readonly entries: readonly PartEntry[];
}

export interface PartWrite {
  /** Made by the server: a repetition of the call is recognized by it. */
  readonly callId: Tag;
  /** The current season of every view, all-time first. */
  readonly seasons: readonly SeasonAt[];
  readonly requests: readonly PartRequest[];
}

export interface EntryOutcome {
  /** `absent`: not here, and nobody may be made here. */
  readonly code: 'applied' | 'duplicate' | 'absent' | 'out_of_range';
  /** All-time, after the whole call; null when there is no such member. */
  readonly key: number | null;
}

export type RequestOutcome =
  | { readonly kind: 'applied'; readonly entries: readonly EntryOutcome[] }
  /** A member of it is moving right now: nothing was applied. Carry the chunk on, then again. */
  | { readonly kind: 'frozen' }
  | { readonly kind: 'out_of_range'; readonly entry: number }
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'ids_full' };

export type WriteOutcome =
  | { readonly kind: 'written'; readonly requests: readonly RequestOutcome[] }
  | Refusal;

export interface RememberedAsk {
  readonly ids: readonly string[];
  readonly keys: readonly string[];
}

export interface RememberedKey {
  readonly fingerprint: string;
  /** By place in the batch: whether it was applied here. */
  readonly elements: readonly boolean[];
}

export type RememberedOutcome =
  | {
      readonly kind: 'remembered';
      readonly ids: readonly boolean[];
      readonly keys: readonly (RememberedKey | null)[];
    }
  | Refusal;

export type MemberChange =
  | { readonly kind: 'delete' }
  | {
      readonly kind: 'change';
      /** Undefined: as it was. */
      readonly isHidden?: boolean | undefined;
      /** JSON; null: none any more; undefined: as it was. */
      readonly meta?: string | null | undefined;
    };

export interface MemberEdit {
  readonly callId: Tag;
  readonly member: string;
  readonly change: MemberChange;
  /** All seasons that are kept, the current ones among them. */
  readonly seasons: readonly SeasonAt[];
}

export type EditOutcome =
  | { readonly kind: 'edited' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'frozen' }
  | Refusal;

/** Rows of a part, in its order. */
export type PartAsk =
  | {
      readonly kind: 'rows';
      /** Null: the beginning. */
      readonly from: Position | null;
      /** So many rows further, or back if negative (as far as there are any). */
      readonly skip: number;
      readonly limit: number;
      /** A member that is treated as if it were not there. */
      readonly without: string | null;
    }
  | {
      readonly kind: 'count';
      /** How many stand before each of them. */
      readonly before: readonly Position[];
      readonly without: string | null;
    }
  | { readonly kind: 'locate'; readonly members: readonly string[] }
  /** With ties `dense` only: the distinct keys, ascending, below a bound. */
  | { readonly kind: 'levels'; readonly below: number; readonly limit: number }
  | {
      readonly kind: 'stats';
      /** Ascending; how many keys lie in [edge, next edge), one fewer than edges. */
      readonly edges: readonly number[];
    };

export interface PartRow {
  readonly key: number;
  readonly element: string;
  /** JSON, or null. */
  readonly meta: string | null;
}

export interface LocatedMember extends PartRow {
  readonly isHidden: boolean;
}

export type PartAnswer =
  | {
      readonly kind: 'rows';
      /** Rows before `from`. */
      readonly before: number;
      /** Rows before the first one that is returned. */
      readonly start: number;
      /** Members shown, without `without`. */
      readonly size: number;
      readonly rows: readonly PartRow[];
    }
  | { readonly kind: 'count'; readonly before: readonly number[]; readonly size: number }
  | { readonly kind: 'locate'; readonly members: readonly (LocatedMember | null)[] }
  /** `count` of all below; the first `limit` of them. */
  | { readonly kind: 'levels'; readonly count: number; readonly keys: readonly number[] }
  | {
      readonly kind: 'stats';
      readonly size: number;
      readonly sum: bigint;
      readonly firstKey: number | null;
      readonly lastKey: number | null;
      readonly counts: readonly number[];
    };

export interface PartRead {
  readonly season: SeasonAt;
  /** For the source of a move: what its target had admitted when it was read. Else null. */
  readonly admitted: number | null;
  readonly asks: readonly PartAsk[];
}

export type ReadOutcome =
  | {
      readonly kind: 'read';
      readonly nowMs: number;
      readonly admitted: number;
      /** In the order of the asks. */
      readonly answers: readonly PartAnswer[];
    }
  /** A source has released more than `admitted`: read the target again, then this one. */
  | { readonly kind: 'behind' }
  /** The chunk under way is admitted and not released: release it, then read again. */
  | { readonly kind: 'unreleased'; readonly chunk: number }
  | Refusal;

/** What moves at once, as its source packed it; nobody but the store looks inside. */
export interface Chunk {
  readonly number: number;
  readonly members: readonly string[];
  readonly content: unknown;
}

export interface ChunkRequest {
  /** All seasons that are kept, the current ones among them. */
  readonly seasons: readonly SeasonAt[];
  /** Those that are to move; a chunk that is under way goes before them. */
  readonly members: readonly string[];
}

/** What of a chunk is under way: its members are frozen in the source until it is released. */
export type PrepareOutcome =
  /** Null: none is under way, and none of the members is here. */
  { readonly kind: 'prepared'; readonly chunk: Chunk | null } | Refusal;

export type StepOutcome = { readonly kind: 'done' } | Refusal;

export type ScanOutcome =
  | {
      readonly kind: 'scanned';
      readonly members: readonly string[];
      /** Null: the walk is over. */
      readonly cursor: string | null;
    }
  | Refusal;

export interface BoardStore {
  /** Primaries that parts can be spread over. */
  readonly primaryCount: number;

  /** Fresh names of parts, each on one of the primaries with the fewest parts of the board. */
  newParts(count: number, beside: readonly Tag[]): Tag[];

  /** Makes a part, of no members, at its epoch; one that is there already stays as it is. */
  openPart(part: Tag, epoch: Tag): Promise<void>;
  /**
   * Moves a part from one epoch to the next; numbers of chunks begin anew. `done` also when it has
   * that epoch already.
   */
  raiseEpoch(part: Tag, from: Tag, to: Tag): Promise<StepOutcome>;
  /** Forgets the part with all it holds: from then on it is gone. Safe to repeat. */
  dropPart(part: Tag, seasons: readonly SeasonAt[]): Promise<void>;

  write(at: PartAt, write: PartWrite): Promise<WriteOutcome>;
  /** `epoch` null: a part of the past, which applies nothing any more. */
  remembered(part: Tag, epoch: Tag | null, ask: RememberedAsk): Promise<RememberedOutcome>;
  edit(at: PartAt, edit: MemberEdit): Promise<EditOutcome>;
  read(at: PartAt, read: PartRead): Promise<ReadOutcome>;

  /** Walks all members: each that is there all the time is seen at least once. */
  scan(at: PartAt, cursor: string | null): Promise<ScanOutcome>;
  /** Freezes members in the source and packs them. */
  prepareChunk(at: PartAt, request: ChunkRequest): Promise<PrepareOutcome>;
  /** Puts a chunk into the target, once. `at` is the target. */
  admitChunk(at: PartAt, seasons: readonly SeasonAt[], chunk: Chunk): Promise<StepOutcome>;
  /** Takes an admitted chunk out of the source, once. */
  releaseChunk(at: PartAt, seasons: readonly SeasonAt[], chunk: number): Promise<StepOutcome>;
}
