/**
 * The streams port in this process's memory: the default without Redis, and the store of the
 * simulation. Nothing survives a restart. Each method runs in one turn of the event loop, so it is
 * as atomic as a script in Redis. Time comes from the clock that is passed in.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Tag, TagSource } from '../../lib/random-tag.ts';
import { compareUtf8 } from '../../lib/utf8.ts';
import { type Bucket, bucketKey } from '../../streams/buckets.ts';
import { compareEntryIds, entryTimeMs } from '../../streams/entry-id.ts';
import {
  type Aside,
  type AppendOutcome,
  type AppendRequest,
  type AskedIndex,
  type Column,
  type CommitOutcome,
  type CompactionCommit,
  FIRST_GENERATION,
  type FoldCommit,
  type Generation,
  type ListedShare,
  type LogEntry,
  type NewPart,
  type PartitionIndex,
  type PartitionStats,
  type StoredColumn,
  type StreamStore,
  type SummaryReplacement,
} from '../../streams/store-port.ts';

export interface MemoryStoreOptions {
  readonly partitionCount: number;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly maxBacklogBytes: number;
  readonly maxBacklogEntries: number;
  readonly clientIdTtlMs: number;
  readonly serverIdTtlMs: number;
  /** Per partition and source. */
  readonly maxRememberedIds: number;
}

interface RememberedId {
  readonly fingerprint: string;
  readonly attempt: Tag;
  readonly answer: string;
  readonly expiresAtMs: number;
}

type SummarySlot = Pick<SummaryReplacement, 'tag' | 'expiresAtMs' | Column>;

/** Values are never changed in place, so a shallow copy of a share is a snapshot of it. */
interface Share {
  readonly generation: Generation;
  readonly deletedThrough: string | null;
  readonly isListed: boolean;
  readonly keptUntilMs: number;
  readonly parts: ReadonlyMap<Tag, NewPart>;
  readonly summaries: ReadonlyMap<string, SummarySlot>;
  /** When the first of the summaries expires. */
  readonly nextExpiryMs: number;
  readonly compactAtMs: number | null;
}

const NO_SHARE: Share = {
  generation: FIRST_GENERATION,
  deletedThrough: null,
  isListed: false,
  keptUntilMs: 0,
  parts: new Map(),
  summaries: new Map(),
  nextExpiryMs: Number.POSITIVE_INFINITY,
  compactAtMs: null,
};

/** All of one partition; `copy` makes a snapshot that later writes do not change. */
export class MemoryPartition {
  log: LogEntry[] = [];
  lastId = '0-0';
  waitingBytes = 0;
  aside: Aside[] = [];
  ids = {
    client: new Map<string, RememberedId>(),
    server: new Map<string, RememberedId>(),
  };
  shares = new Map<string, Share>();

  copy(): MemoryPartition {
    const copy = new MemoryPartition();
    copy.log = [...this.log];
    copy.lastId = this.lastId;
    copy.waitingBytes = this.waitingBytes;
    copy.aside = [...this.aside];
    copy.ids = { client: new Map(this.ids.client), server: new Map(this.ids.server) };
    copy.shares = new Map(this.shares);
    return copy;
  }
}

export class MemoryStreamStore implements StreamStore {
  readonly partitionCount: number;
  readonly #options: MemoryStoreOptions;
  protected readonly partitions: MemoryPartition[];

  constructor(options: MemoryStoreOptions) {
    this.#options = options;
    this.partitionCount = options.partitionCount;
    this.partitions = Array.from({ length: options.partitionCount }, () => new MemoryPartition());
  }

  async append(partition: number, requests: readonly AppendRequest[]): Promise<AppendOutcome[]> {
    const state = this.partitions[partition]!;
    const nowMs = this.#options.clock.nowMs();
    const fresh: Uint8Array[] = [];
    let freshBytes = 0;
    const outcomes = requests.map((request): AppendOutcome => {
      const ids = state.ids[request.idSource];
      const known = ids.get(request.id);
      if (known !== undefined && known.expiresAtMs > nowMs) return outcomeOf(known, request);
      const bytes = request.blob.length;
      if (this.#isBacklogFull(state, freshBytes + bytes) && bytes > 0) {
        return { kind: 'backlog_full' };
      }
      if (!this.#makeRoomForId(ids, nowMs)) return { kind: 'ids_full' };
      const { clientIdTtlMs, serverIdTtlMs } = this.#options;
      const ttlMs = request.idSource === 'client' ? clientIdTtlMs : serverIdTtlMs;
      const { fingerprint, attempt, answer } = request;
      ids.delete(request.id);
      ids.set(request.id, { fingerprint, attempt, answer, expiresAtMs: nowMs + ttlMs });
      if (bytes > 0) fresh.push(request.blob);
      freshBytes += bytes;
      return { kind: 'applied' };
    });
    if (fresh.length > 0) {
      state.lastId = nextId(state.lastId, nowMs);
      const blob = Buffer.concat(fresh);
      state.log.push({ id: state.lastId, tag: this.#options.tags(), blob });
      state.waitingBytes += blob.length;
    }
    return outcomes;
  }

  async readLog(partition: number, maxEntries: number, maxBytes: number): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    let bytes = 0;
    for (const entry of this.partitions[partition]!.log) {
      bytes += entry.blob.length;
      if (entries.length === maxEntries || (entries.length > 0 && bytes > maxBytes)) break;
      entries.push(entry);
    }
    return entries;
  }

  async commitFold(partition: number, commit: FoldCommit): Promise<CommitOutcome> {
    const state = this.partitions[partition]!;
    const entries = new Map(state.log.map((entry) => [entry.id, entry]));
    for (const { id, tag } of commit.entries) {
      if (!this.isSameEntry(entries.get(id), tag)) return 'conflict';
    }
    for (const { share, generation } of commit.shares) {
      if (this.#share(state, share).generation !== generation) return 'conflict';
    }
    for (const { share, parts, compactAtMs, isListed, keptUntilMs } of commit.shares) {
      const before = this.#share(state, share);
      state.shares.set(share, {
        ...before,
        parts: new Map([...before.parts, ...parts.map((part) => [part.tag, part] as const)]),
        compactAtMs: Math.min(before.compactAtMs ?? compactAtMs, compactAtMs),
        isListed,
        keptUntilMs: Math.max(before.keptUntilMs, keptUntilMs),
      });
    }
    const folded = new Set(commit.entries.map(({ id }) => id));
    for (const { id, blob } of state.log) if (folded.has(id)) state.waitingBytes -= blob.length;
    state.log = state.log.filter(({ id }) => !folded.has(id));
    this.#setAside(state, commit.aside);
    return 'applied';
  }

  async readDueShares(partition: number, nowMs: number, limit: number): Promise<string[]> {
    const { shares } = this.partitions[partition]!;
    sweep(shares, this.#options.clock.nowMs());
    return [...shares]
      .filter(([, { compactAtMs }]) => compactAtMs !== null && compactAtMs <= nowMs)
      .sort(([a, { compactAtMs: aMs }], [b, { compactAtMs: bMs }]) => {
        return (aMs ?? 0) - (bMs ?? 0) || compareUtf8(a, b);
      })
      .slice(0, limit)
      .map(([share]) => share);
  }

  async cancelVisit(partition: number, share: string): Promise<void> {
    const { shares } = this.partitions[partition]!;
    const before = shares.get(share);
    if (before !== undefined) shares.set(share, { ...before, compactAtMs: null });
  }

  async commitCompaction(partition: number, commit: CompactionCommit): Promise<CommitOutcome> {
    const state = this.partitions[partition]!;
    const share = this.#share(state, commit.share);
    if (share.generation !== commit.generation) return 'conflict';
    if (!this.areOpen(share.parts, commit.removeParts)) return 'conflict';
    // Here a part and its bytes are one thing: none can be lost.
    if (commit.lostParts.length > 0) return 'conflict';
    for (const { bucket, expectedTag } of commit.summaries) {
      if ((this.#summary(share.summaries, bucket)?.tag ?? null) !== expectedTag) return 'conflict';
    }
    const parts = new Map(share.parts);
    for (const tag of commit.removeParts) parts.delete(tag);
    for (const part of commit.addParts) parts.set(part.tag, part);
    const summaries = new Map(share.summaries);
    let { nextExpiryMs } = share;
    for (const { bucket, tag, counts, viewers, expiresAtMs } of commit.summaries) {
      summaries.set(bucketKey(bucket), { tag, counts, viewers, expiresAtMs });
      nextExpiryMs = Math.min(nextExpiryMs, expiresAtMs);
    }
    const overtaken = parts.size !== commit.remainingParts;
    const compactAtMs = overtaken ? share.compactAtMs : commit.compactAtMs;
    state.shares.set(commit.share, { ...share, parts, summaries, nextExpiryMs, compactAtMs });
    this.#setAside(state, commit.aside);
    return 'applied';
  }

  async readIndex(partition: number, asked: readonly AskedIndex[]): Promise<PartitionIndex> {
    const state = this.partitions[partition]!;
    const shares = asked.map(({ share, buckets }) => {
      const { generation, deletedThrough, parts, summaries } = this.#share(state, share);
      return {
        generation,
        deletedThrough,
        parts: [...parts.values()],
        summaryTags: buckets.map((bucket) => this.#summary(summaries, bucket)?.tag ?? null),
      };
    });
    return { shares, oldestWaitingMs: oldestMs(state) };
  }

  async readSummaries(
    partition: number,
    share: string,
    buckets: readonly Bucket[],
    column: Column,
  ): Promise<(StoredColumn | null)[]> {
    const { summaries } = this.#share(this.partitions[partition]!, share);
    return buckets.map((bucket) => {
      const slot = this.#summary(summaries, bucket);
      const blob = slot?.[column] ?? null;
      return slot === null || blob === null ? null : { tag: slot.tag, blob };
    });
  }

  async readParts(
    partition: number,
    share: string,
    tags: readonly Tag[],
  ): Promise<(Uint8Array | null)[]> {
    const { parts } = this.#share(this.partitions[partition]!, share);
    return tags.map((tag) => parts.get(tag)?.blob ?? null);
  }

  async listShares(partition: number, after: string | null, limit: number): Promise<ListedShare[]> {
    const nowMs = this.#options.clock.nowMs();
    return [...this.partitions[partition]!.shares]
      .filter(([, { isListed, keptUntilMs }]) => isListed && keptUntilMs > nowMs)
      .filter(([share]) => after === null || compareUtf8(share, after) > 0)
      .sort(([a], [b]) => compareUtf8(a, b))
      .slice(0, limit)
      .map(([share, { generation }]) => ({ share, generation }));
  }

  async deleteShare(partition: number, share: string, next: Generation): Promise<void> {
    const state = this.partitions[partition]!;
    const { clock, clientIdTtlMs } = this.#options;
    // A repetition must not drop what came in between.
    if (this.#share(state, share).generation === next) return;
    state.shares.set(share, {
      ...NO_SHARE,
      generation: next,
      deletedThrough: state.lastId,
      // Remembered as long as the keys of its importers are.
      keptUntilMs: clock.nowMs() + clientIdTtlMs,
    });
  }

  /** Nothing to do: `deleteShare` has freed them. */
  async dropStaleSummaries(): Promise<void> {}

  async readStats(partition: number): Promise<PartitionStats> {
    const state = this.partitions[partition]!;
    return {
      waitingEntries: state.log.length,
      waitingBytes: state.waitingBytes,
      oldestWaitingMs: oldestMs(state),
      damagedEntries: state.aside.length,
    };
  }

  /** A failover can give an old id to a new entry: only the tag tells them apart. */
  protected isSameEntry(entry: LogEntry | undefined, tag: Tag): boolean {
    return entry?.tag === tag;
  }

  protected areOpen(parts: ReadonlyMap<Tag, NewPart>, tags: readonly Tag[]): boolean {
    return tags.every((tag) => parts.has(tag));
  }

  #share(state: MemoryPartition, share: string): Share {
    return state.shares.get(share) ?? NO_SHARE;
  }

  #summary(summaries: Share['summaries'], bucket: Bucket): SummarySlot | null {
    const slot = summaries.get(bucketKey(bucket));
    if (slot === undefined) return null;
    return slot.expiresAtMs > this.#options.clock.nowMs() ? slot : null;
  }

  #isBacklogFull(state: MemoryPartition, freshBytes: number): boolean {
    const { maxBacklogBytes, maxBacklogEntries } = this.#options;
    const tooMany = state.log.length + state.aside.length >= maxBacklogEntries;
    return tooMany || state.waitingBytes + freshBytes > maxBacklogBytes;
  }

  /** Ids stand in the order in which they expire, so the oldest are dropped from the front. */
  #makeRoomForId(ids: Map<string, RememberedId>, nowMs: number): boolean {
    for (const [id, { expiresAtMs }] of ids) {
      if (expiresAtMs > nowMs) break;
      ids.delete(id);
    }
    return ids.size < this.#options.maxRememberedIds;
  }

  /** What lies aside still counts as waiting, so that the backlog's limit bounds it too. */
  #setAside(state: MemoryPartition, aside: readonly Aside[]): void {
    state.aside = [...state.aside, ...aside];
    for (const { blob } of aside) state.waitingBytes += blob.length;
  }
}

function outcomeOf(known: RememberedId, request: AppendRequest): AppendOutcome {
  if (known.attempt === request.attempt) return { kind: 'applied' };
  if (known.fingerprint !== request.fingerprint) return { kind: 'key_reused' };
  return { kind: 'duplicate', answer: known.answer };
}

/** Redis's rule: the time, or the last id's with the next number where time did not advance. */
function nextId(lastId: string, nowMs: number): string {
  const next = `${nowMs}-0`;
  if (compareEntryIds(next, lastId) > 0) return next;
  const [lastMs, lastCount] = lastId.split('-');
  return `${lastMs}-${Number(lastCount) + 1}`;
}

/** What Redis does by itself: frees summaries that have expired, and shares that are over. */
function sweep(shares: Map<string, Share>, nowMs: number): void {
  for (const [key, share] of shares) {
    if (share.nextExpiryMs <= nowMs) {
      const alive = [...share.summaries].filter(([, { expiresAtMs }]) => expiresAtMs > nowMs);
      const nextExpiryMs = Math.min(...alive.map(([, { expiresAtMs }]) => expiresAtMs));
      shares.set(key, { ...share, summaries: new Map(alive), nextExpiryMs });
    }
    if (share.keptUntilMs <= nowMs && share.parts.size === 0) shares.delete(key);
  }
}

function oldestMs(state: MemoryPartition): number | null {
  const [oldest] = state.log;
  return oldest === undefined ? null : entryTimeMs(oldest.id);
}
