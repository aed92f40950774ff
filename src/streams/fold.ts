/**
 * The fold: what waits in a partition's log becomes one exact part for each share and bucket, and
 * leaves the log, in one atomic step. It keeps no state: killed before that step it has changed
 * nothing, after it everything. Two folds of one partition at once do no harm: the step checks that
 * every entry is still there with its tag, so the second one finds nothing to apply.
 */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import { SketchDecodeError } from '../sketches/sketch-decode-error.ts';
import type { Summary, SummaryContext } from '../sketches/summary.ts';
import { type BatchGroup, decodeBatches, encodeBatch } from './batch.ts';
import { type Bucket, bucketKey, lastExpiryMs, type Retention } from './buckets.ts';
import type { Compactor } from './compact.ts';
import { compactionDueMs, isFull, type OpenBucket, openBuckets } from './compaction-plan.ts';
import { compareEntryIds } from './entry-id.ts';
import { FOLD_BYTES_MAX, FOLD_ENTRIES_MAX, FOLD_INDEX_SLICE } from './limits.ts';
import { mergeExactly, partsOf } from './parts.ts';
import type { StreamRegistry } from './registry.ts';
import { shareOf } from './shares.ts';
import type { Aside, LogEntry, ShareFold, ShareIndex, StreamStore } from './store-port.ts';

export interface FoldOptions {
  readonly store: StreamStore;
  readonly compactor: Compactor;
  readonly clock: Clock;
  readonly tags: TagSource;
  /** With PART_SHAPE. */
  readonly partContext: SummaryContext;
  readonly registry: StreamRegistry;
}

export interface FoldReport {
  /** Entries that left the log. */
  readonly entryCount: number;
  /** Entries, or shares of them, that could not be used and were moved aside. */
  readonly asideCount: number;
  /** There may be more to fold at once. */
  readonly more: boolean;
}

const NOTHING: FoldReport = { entryCount: 0, asideCount: 0, more: false };

/** A group, and the entry it came from: a deleted share's older entries are skipped. */
interface EntryGroup extends BatchGroup {
  readonly entryId: string;
}

export class Folder {
  readonly #options: FoldOptions;

  constructor(options: FoldOptions) {
    this.#options = options;
  }

  /** One step; call again while it reports `more`. */
  async foldPartition(partition: number): Promise<FoldReport> {
    const { store, compactor, registry } = this.#options;
    const entries = await store.readLog(partition, FOLD_ENTRIES_MAX, FOLD_BYTES_MAX);
    if (entries.length === 0) return NOTHING;
    const aside: Aside[] = [];
    const byShare = this.#decode(entries, aside);
    const indexes = await this.#readIndexes(partition, [...byShare.keys()]);
    const shares: ShareFold[] = [];
    for (const [at, [share, groups]] of [...byShare].entries()) {
      const index = indexes[at]!;
      if (index === null) {
        aside.push({ reason: 'the keys of a stream are broken', blob: encodeBatch(groups) });
        continue;
      }
      if (openBuckets(index.parts).some((open) => isFull(open) && isTouched(open, groups))) {
        await compactor.compactShare(partition, share);
        return { ...NOTHING, more: true };
      }
      const { settings } = await registry.ofUpkeep(shareOf(share).stream);
      const fold = this.#foldShare(share, index, groups, settings.retention);
      if (fold !== null) shares.push(fold);
    }
    const commit = { entries: entries.map(({ id, tag }) => ({ id, tag })), shares, aside };
    const outcome = await store.commitFold(partition, commit);
    if (outcome === 'conflict') return { ...NOTHING, more: true };
    return { entryCount: entries.length, asideCount: aside.length, more: true };
  }

  /** The entries' groups by share; an entry that cannot be read goes aside whole. */
  #decode(entries: readonly LogEntry[], aside: Aside[]): Map<string, EntryGroup[]> {
    const byShare = new Map<string, EntryGroup[]>();
    for (const { id, blob } of entries) {
      try {
        for (const group of decodeBatches(blob, this.#options.partContext)) {
          const groups = byShare.get(group.share) ?? [];
          groups.push({ ...group, entryId: id });
          byShare.set(group.share, groups);
        }
      } catch (error) {
        if (!(error instanceof SketchDecodeError)) throw error;
        aside.push({ reason: error.message, blob });
      }
    }
    return byShare;
  }

  /** In the order of the shares; null where the share's keys are broken. */
  async #readIndexes(partition: number, shares: readonly string[]): Promise<(ShareIndex | null)[]> {
    const indexes: (ShareIndex | null)[] = [];
    for (let at = 0; at < shares.length; at += FOLD_INDEX_SLICE) {
      const asked = shares.slice(at, at + FOLD_INDEX_SLICE);
      const index = await this.#options.store.readIndex(
        partition,
        asked.map((share) => ({ share, buckets: [] })),
      );
      indexes.push(...index.shares);
    }
    return indexes;
  }

  #foldShare(
    share: string,
    index: ShareIndex,
    groups: readonly EntryGroup[],
    retention: Retention,
  ): ShareFold | null {
    const { clock, tags, partContext } = this.#options;
    const { deletedThrough } = index;
    const alive = groups.filter(
      ({ entryId }) => deletedThrough === null || compareEntryIds(entryId, deletedThrough) > 0,
    );
    if (alive.length === 0) return null;
    const nowMs = clock.nowMs();
    const parts = [...groupByBucket(alive).values()].flatMap(({ bucket, summaries }) =>
      partsOf(mergeExactly(summaries, partContext), bucket, nowMs, tags),
    );
    const ends = parts.map(({ bucket }) => lastExpiryMs(bucket.startMs, retention));
    return {
      share,
      generation: index.generation,
      parts,
      compactAtMs: compactionDueMs([...index.parts, ...parts], nowMs) ?? nowMs,
      isListed: shareOf(share).segment === null,
      keptUntilMs: Math.max(...ends),
    };
  }
}

function groupByBucket(
  groups: readonly BatchGroup[],
): Map<string, { bucket: Bucket; summaries: Summary[] }> {
  const byBucket = new Map<string, { bucket: Bucket; summaries: Summary[] }>();
  for (const { bucket, summary } of groups) {
    const key = bucketKey(bucket);
    const known = byBucket.get(key);
    if (known === undefined) byBucket.set(key, { bucket, summaries: [summary] });
    else known.summaries.push(summary);
  }
  return byBucket;
}

function isTouched({ bucket }: OpenBucket, groups: readonly BatchGroup[]): boolean {
  const key = bucketKey(bucket);
  return groups.some((group) => bucketKey(group.bucket) === key);
}
