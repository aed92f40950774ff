/**
 * The port of the streams room: what a partition of a store must be able to do.
 *
 * A partition is one atomic place (one slot of a cluster): log, parts, summaries and remembered ids
 * lie together, so that a failover takes them all back to the same moment. Every write is one
 * atomic step that checks first and writes after; every write may be sent twice without harm.
 * Tags are random 64-bit values (16 hex digits): same tag, same bytes, for ever.
 *
 * Every method may reject with StoreUnavailableError; `append` also with OutcomeUnknownError; those
 * that read one share's own keys with BrokenStreamError when these hold what they must not hold.
 */
import type { Tag } from '../lib/random-tag.ts';
import type { Bucket } from './buckets.ts';

/** One batch to be appended, with the id that makes a repetition harmless. */
export interface AppendRequest {
  /** Where the id comes from decides how long it is remembered (24 h, 10 minutes: settings). */
  readonly idSource: 'client' | 'server';
  /** 1..64 characters of [0-9a-f]. */
  readonly id: string;
  /** SHA-256 of the request body in hex; empty for ids made by the server. */
  readonly fingerprint: string;
  /** Random, one for each time a batch arrives: tells an own repetition from a client's retry. */
  readonly attempt: Tag;
  /** Opaque text, kept with the id and handed back when the id is met again. */
  readonly answer: string;
  /** An encoded batch (`batch.ts`); empty when no event was accepted: only the id is kept. */
  readonly blob: Uint8Array;
}

export type AppendOutcome =
  /** In the log now, or since an earlier repetition of the same attempt. */
  | { readonly kind: 'applied' }
  /** The id was there from another attempt with the same fingerprint; nothing was added. */
  | { readonly kind: 'duplicate'; readonly answer: string }
  /** The id was there with another fingerprint; nothing was added. */
  | { readonly kind: 'key_reused' }
  /** Too much waits to be folded; nothing was added. */
  | { readonly kind: 'backlog_full' }
  /** Too many ids are remembered; nothing was added. */
  | { readonly kind: 'ids_full' };

export interface LogEntry {
  /** `<ms>-<n>`, ascending in the log. May come round again after a failover; the tag does not. */
  readonly id: string;
  readonly tag: Tag;
  /** One or more encoded batches, one after the other. */
  readonly blob: Uint8Array;
}

/** An exact summary of some events of one stream and bucket that is not yet compacted. */
export interface PartRef {
  readonly tag: Tag;
  readonly bucket: Bucket;
  readonly bytes: number;
  /** When the oldest of its events was folded, by the clock of the worker that did it. */
  readonly foldedAtMs: number;
}

/** A question about what a partition holds of a share. */
export interface AskedIndex {
  /** A share's key (`shares.ts`); opaque to stores, here and below. */
  readonly share: string;
  /** Whose summaries are to be named. */
  readonly buckets: readonly Bucket[];
}

/** What a partition holds of the shares asked for, all at one moment. */
export interface PartitionIndex {
  /** In the order asked for; null where the share's own keys hold what they must not hold. */
  readonly shares: readonly (ShareIndex | null)[];
  /** Time of the partition's oldest entry that is not folded yet, by the store's clock. */
  readonly oldestWaitingMs: number | null;
}

export interface ShareIndex {
  /** `0` until the share is deleted for the first time, then a new tag at each deletion. */
  readonly generation: Generation;
  /** Entries up to this id hold nothing for this share: it was deleted after them. */
  readonly deletedThrough: string | null;
  readonly parts: readonly PartRef[];
  /** One for each bucket asked for: the tag of its summary, or null; `broken` when unreadable. */
  readonly summaryTags: readonly (Tag | null | 'broken')[];
}

export type Generation = string;
export const FIRST_GENERATION: Generation = '0';

/** Summaries are kept in two columns, so that a question reads no more than it needs. */
export type Column = 'counts' | 'viewers';

/** One column of a summary; both carry the summary's tag. */
export interface StoredColumn {
  readonly tag: Tag;
  readonly blob: Uint8Array;
}

export interface NewPart extends PartRef {
  readonly blob: Uint8Array;
}

/** Something acknowledged that could not be used; kept for inspection, and in the metrics. */
export interface Aside {
  readonly reason: string;
  readonly blob: Uint8Array;
}

export interface FoldCommit {
  /** Each must still be in the log with its tag, else nothing is done. They leave the log. */
  readonly entries: readonly { readonly id: string; readonly tag: Tag }[];
  readonly shares: readonly ShareFold[];
  readonly aside: readonly Aside[];
}

export interface ShareFold {
  readonly share: string;
  /** Must still be the share's generation, else nothing is done. */
  readonly generation: Generation;
  readonly parts: readonly NewPart[];
  /** The share wants a visit of the compaction at this time (or earlier, if it already did). */
  readonly compactAtMs: number;
  /** False for what is no stream of its own: `listShares` leaves it out. */
  readonly isListed: boolean;
  /** The share is remembered, and listed, at least until then. */
  readonly keptUntilMs: number;
}

/** `conflict`: what had to be there is not (any more); nothing was done: read again. */
export type CommitOutcome = 'applied' | 'conflict';

export interface CompactionCommit {
  readonly share: string;
  readonly generation: Generation;
  /** Each must still be among the open parts, else nothing is done. They leave. */
  readonly removeParts: readonly Tag[];
  /** Open parts whose bytes are missing: that must still be so, else nothing is done. */
  readonly lostParts: readonly Tag[];
  /** Parts that take their place (an open bucket's parts merged among themselves). */
  readonly addParts: readonly NewPart[];
  readonly summaries: readonly SummaryReplacement[];
  readonly aside: readonly Aside[];
  /** How many open parts remain if nobody added one meanwhile, and when they want a visit. */
  readonly remainingParts: number;
  /** Null: no visit needed (with `remainingParts` 0). Ignored when parts were added meanwhile. */
  readonly compactAtMs: number | null;
}

export interface SummaryReplacement {
  readonly bucket: Bucket;
  /** What must be there now, else nothing is done. */
  readonly expectedTag: Tag | null | 'broken';
  readonly tag: Tag;
  readonly counts: Uint8Array;
  /** Null: this column is empty. */
  readonly viewers: Uint8Array | null;
  readonly expiresAtMs: number;
}

export interface ListedShare {
  readonly share: string;
  readonly generation: Generation;
}

export interface PartitionStats {
  readonly waitingEntries: number;
  readonly waitingBytes: number;
  readonly oldestWaitingMs: number | null;
  /** Entries moved aside because they could not be folded or compacted. */
  readonly damagedEntries: number;
}

export interface StreamStore {
  readonly partitionCount: number;

  /** Applies each request or not, in order; requests of one call become at most one log entry. */
  append(partition: number, requests: readonly AppendRequest[]): Promise<AppendOutcome[]>;

  /** The oldest entries; at least one if there is any, then as many as fit into `maxBytes`. */
  readLog(partition: number, maxEntries: number, maxBytes: number): Promise<LogEntry[]>;
  commitFold(partition: number, commit: FoldCommit): Promise<CommitOutcome>;

  /** Shares whose time for a visit of the compaction has come, earliest first. */
  readDueShares(partition: number, nowMs: number, limit: number): Promise<string[]>;
  /** No visit until the share's next fold: for one whose keys are broken. */
  cancelVisit(partition: number, share: string): Promise<void>;
  commitCompaction(partition: number, commit: CompactionCommit): Promise<CommitOutcome>;

  readIndex(partition: number, asked: readonly AskedIndex[]): Promise<PartitionIndex>;
  /** Null where the column is empty, has gone, or belongs to an earlier generation. */
  readSummaries(
    partition: number,
    share: string,
    buckets: readonly Bucket[],
    column: Column,
  ): Promise<(StoredColumn | null)[]>;
  /** Null where the part has gone. */
  readParts(partition: number, share: string, tags: readonly Tag[]): Promise<(Uint8Array | null)[]>;

  /** Listed shares in the order of their keys' bytes, after `after`, at most `limit`. */
  listShares(partition: number, after: string | null, limit: number): Promise<ListedShare[]>;
  /** Drops the share with all that waits in the log; `next` becomes the generation. */
  deleteShare(partition: number, share: string, next: Generation): Promise<void>;
  /** Frees summaries of earlier generations; they are unreadable already. */
  dropStaleSummaries(partition: number, share: string, buckets: readonly Bucket[]): Promise<void>;

  readStats(partition: number): Promise<PartitionStats>;
}
