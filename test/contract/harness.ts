import { Prng } from '../../src/lib/prng.ts';
import { seededTags, type Tag } from '../../src/lib/random-tag.ts';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { type Bucket, bucketOf, HOUR_MS } from '../../src/streams/buckets.ts';
import type {
  AppendRequest,
  CompactionCommit,
  LogEntry,
  NewPart,
  ShareFold,
  StreamStore,
  SummaryReplacement,
} from '../../src/streams/store-port.ts';

export interface StoreLimits {
  readonly maxBacklogBytes: number;
  readonly maxBacklogEntries: number;
  readonly clientIdTtlMs: number;
  readonly serverIdTtlMs: number;
  readonly maxRememberedIds: number;
}

export const ROOMY: StoreLimits = {
  maxBacklogBytes: 64 * 2 ** 20,
  maxBacklogEntries: 1_000,
  clientIdTtlMs: HOUR_MS,
  serverIdTtlMs: HOUR_MS,
  maxRememberedIds: 10_000,
};

export interface OpenStore {
  readonly store: StreamStore;
  /** The partition that the test uses; over many tests they take turns. */
  readonly partition: number;
  /** The time by the store's own clock. */
  readonly nowMs: () => Promise<number>;
  /** Returns when at least so much time has passed by the store's own clock. */
  readonly passMs: (ms: number) => Promise<void>;
}

/** Gives the contract's tests a store of two or more partitions, empty and of its own each. */
export interface StreamStoreHarness {
  open(limits?: Partial<StoreLimits>): Promise<OpenStore>;
}

export const newTag = seededTags(new Prng(1));

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function requestOf(fields: Partial<AppendRequest> & { readonly id: string }): AppendRequest {
  return {
    idSource: 'client',
    fingerprint: 'f1',
    attempt: newTag(),
    answer: '',
    blob: bytesOf('batch'),
    ...fields,
  };
}

/** Appends one batch and answers the entry it became. */
export async function appendEntry(
  { store, partition }: OpenStore,
  blob: Uint8Array = bytesOf('batch'),
): Promise<LogEntry> {
  await store.append(partition, [requestOf({ id: newTag(), blob })]);
  const entries = await store.readLog(partition, 1_000, Number.MAX_SAFE_INTEGER);
  return entries.at(-1) as LogEntry;
}

export function partOf(fields: Partial<NewPart> & { readonly bucket: Bucket }): NewPart {
  const blob = fields.blob ?? bytesOf('part');
  return { tag: newTag(), bytes: blob.length, foldedAtMs: 1, blob, ...fields };
}

export async function shareFoldOf(
  { nowMs }: OpenStore,
  fields: Partial<ShareFold> & { readonly share: string },
): Promise<ShareFold> {
  return {
    generation: '0',
    parts: [],
    compactAtMs: 1,
    isListed: true,
    keptUntilMs: (await nowMs()) + HOUR_MS,
    ...fields,
  };
}

/** Folds one new entry into these parts of the stream. */
export async function foldInto(
  open: OpenStore,
  fields: Partial<ShareFold> & { readonly share: string },
): Promise<void> {
  const { id, tag } = await appendEntry(open);
  const fold = await shareFoldOf(open, fields);
  const commit = { entries: [{ id, tag }], shares: [fold], aside: [] };
  const outcome = await open.store.commitFold(open.partition, commit);
  if (outcome !== 'applied') {
    throw new Error(`the fold that prepares the test was not applied: ${outcome}`);
  }
}

export function compactionOf(
  fields: Partial<CompactionCommit> & { readonly share: string },
): CompactionCommit {
  return {
    generation: '0',
    removeParts: [],
    lostParts: [],
    addParts: [],
    summaries: [],
    aside: [],
    remainingParts: 0,
    compactAtMs: null,
    ...fields,
  };
}

/** Expires in an hour, unless said otherwise. */
export async function summaryOf(
  { nowMs }: OpenStore,
  fields: Partial<SummaryReplacement> & { readonly bucket: Bucket },
): Promise<SummaryReplacement> {
  return {
    expectedTag: null,
    tag: newTag(),
    counts: bytesOf('summary'),
    viewers: null,
    expiresAtMs: (await nowMs()) + HOUR_MS,
    ...fields,
  };
}

export async function currentHour({ nowMs }: OpenStore): Promise<Bucket> {
  return bucketOf('hour', await nowMs());
}

export async function currentDay({ nowMs }: OpenStore): Promise<Bucket> {
  return bucketOf('day', await nowMs());
}

export async function currentMinute({ nowMs }: OpenStore): Promise<Bucket> {
  return bucketOf('minute', await nowMs());
}

export async function openPartTags({ store, partition }: OpenStore, share: string): Promise<Tag[]> {
  const { parts } = await readShareIndex(store, partition, share, []);
  return parts.map(({ tag }) => tag).sort();
}
