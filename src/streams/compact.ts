/**
 * The compaction: parts of a closed bucket enter the summaries of every level that still keeps
 * their time, and leave, in one atomic step; so each part enters each level exactly once and
 * nothing is ever recomputed. Parts of a bucket that is still open are merged among themselves so
 * that they stay few. Like the fold it keeps no state and may run twice at once.
 */
import type { Clock } from '../lib/clock.ts';
import type { Tag, TagSource } from '../lib/random-tag.ts';
import { BrokenStreamError } from '../lib/store-errors.ts';
import { SketchDecodeError } from '../sketches/sketch-decode-error.ts';
import { Summary, type SummaryContext } from '../sketches/summary.ts';
import { decodeSummary, encodeSummary } from '../sketches/summary-codec.ts';
import { type Bucket, bucketKey, expiresAtMs, isKept, type Retention } from './buckets.ts';
import { compactionDueMs, openBuckets, planCompaction } from './compaction-plan.ts';
import { COMPACT_STREAMS_MAX } from './limits.ts';
import { mergeExactly, partsOf } from './parts.ts';
import type {
  Aside,
  CommitOutcome,
  NewPart,
  PartRef,
  StreamIndex,
  StreamStore,
  SummaryReplacement,
} from './store-port.ts';

export interface CompactOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  /** With CLOSED_SHAPE. */
  readonly closedContext: SummaryContext;
  /** With PART_SHAPE. */
  readonly partContext: SummaryContext;
  readonly retention: Retention;
}

/** Parts as they were read: those that can be counted, and what had to go aside. */
interface ReadParts {
  readonly summaries: readonly { readonly part: PartRef; readonly summary: Summary }[];
  /** Parts that cannot be counted: what they belong to says so. */
  readonly unusable: readonly PartRef[];
  /** How the parts leave: those that were not there are lost, or the commit's check fails. */
  readonly removal: Pick<Change, 'removeParts' | 'lostParts'>;
  readonly aside: readonly Aside[];
}

export class Compactor {
  readonly #options: CompactOptions;

  constructor(options: CompactOptions) {
    this.#options = options;
  }

  /** Visits the streams whose time has come; returns how many it visited. */
  async compactPartition(partition: number): Promise<number> {
    const { store, clock } = this.#options;
    const streams = await store.readDueStreams(partition, clock.nowMs(), COMPACT_STREAMS_MAX);
    for (const stream of streams) await this.compactStream(partition, stream);
    return streams.length;
  }

  /** Does what is due for one stream; stops when somebody else was faster. */
  async compactStream(partition: number, stream: string): Promise<void> {
    const { store, clock } = this.#options;
    let index: StreamIndex;
    try {
      index = await store.readIndex(partition, stream, []);
    } catch (error) {
      if (!(error instanceof BrokenStreamError)) throw error;
      // It must not stand before the others at every visit.
      await store.cancelVisit(partition, stream);
      return;
    }
    const nowMs = clock.nowMs();
    const plan = planCompaction(index.parts, nowMs);
    let open = index.parts;
    const commit = async (change: Change | null): Promise<CommitOutcome> => {
      if (change === null) return 'conflict';
      const removed = new Set([...change.removeParts, ...change.lostParts]);
      open = [...open.filter(({ tag }) => !removed.has(tag)), ...change.addParts];
      return await store.commitCompaction(partition, {
        ...change,
        stream,
        generation: index.generation,
        remainingParts: open.length,
        compactAtMs: compactionDueMs(open, nowMs),
      });
    };
    for (const run of plan.merges) {
      const outcome = await commit(await this.#mergeRun(partition, stream, run));
      if (outcome === 'conflict') return;
    }
    for (const { hour, parts } of plan.hours) {
      const outcome = await commit(await this.#compactHour(partition, stream, index, hour, parts));
      if (outcome === 'conflict') return;
    }
    if (plan.merges.length + plan.hours.length === 0) await commit(NO_CHANGE);
  }

  async #mergeRun(partition: number, stream: string, run: readonly PartRef[]): Promise<Change> {
    const { partContext, tags } = this.#options;
    const read = await this.#readParts(partition, stream, run);
    const { bucket } = run[0]!;
    const merged = mergeExactly(
      read.summaries.map(({ summary }) => summary),
      partContext,
    );
    if (read.unusable.length > 0) markIncomplete(merged, partContext);
    const foldedAtMs = Math.min(...run.map((part) => part.foldedAtMs));
    return {
      ...read.removal,
      addParts: partsOf(merged, bucket, foldedAtMs, tags),
      summaries: [],
      aside: read.aside,
    };
  }

  /** Null when somebody else was faster. */
  async #compactHour(
    partition: number,
    stream: string,
    before: StreamIndex,
    hour: Bucket,
    parts: readonly PartRef[],
  ): Promise<Change | null> {
    const { store, clock, retention } = this.#options;
    const open = openBuckets(parts);
    const nowMs = clock.nowMs();
    const minutes = open.map(({ bucket }) => bucket).filter(({ level }) => level === 'minute');
    const buckets = [...minutes, hour].filter((bucket) => isKept(bucket, nowMs, retention));
    const index = await store.readIndex(partition, stream, buckets);
    if (index.generation !== before.generation) return null;
    const read = await this.#readParts(partition, stream, parts);
    const aside = [...read.aside];
    const targets = await this.#readTargets(partition, stream, buckets, index, aside);
    if (targets === null) return null;
    for (const { bucket } of open) {
      const share = this.#shareOf(bucket, read);
      targets.get(bucketKey(bucket))?.merge(share);
      if (bucket.level !== 'hour') targets.get(bucketKey(hour))?.merge(share);
    }
    return {
      ...read.removal,
      addParts: [],
      summaries: this.#replacements(buckets, index, targets),
      aside,
    };
  }

  /** The parts of one bucket as one summary: exact as far as a part can be. */
  #shareOf(bucket: Bucket, { summaries, unusable }: ReadParts): Summary {
    const key = bucketKey(bucket);
    const share = new Summary(this.#options.partContext);
    for (const { part, summary } of summaries) {
      if (bucketKey(part.bucket) === key) share.merge(summary);
    }
    share.incomplete ||= unusable.some((part) => bucketKey(part.bucket) === key);
    return share;
  }

  /** The summaries that are there now, or empty ones. A damaged one is replaced, and says so. */
  async #readTargets(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
    index: StreamIndex,
    aside: Aside[],
  ): Promise<Map<string, Summary> | null> {
    const { store, closedContext } = this.#options;
    const stored = await store.readSummaries(partition, stream, buckets);
    const targets = new Map<string, Summary>();
    for (const [at, bucket] of buckets.entries()) {
      const tag = index.summaryTags[at]!;
      const found = stored[at] ?? null;
      let target = new Summary(closedContext);
      if (tag === 'broken') {
        target.incomplete = true;
      } else if (tag !== (found?.tag ?? null)) {
        return null;
      } else if (found !== null) {
        try {
          target = decodeSummary(found.blob, closedContext);
        } catch (error) {
          if (!(error instanceof SketchDecodeError)) throw error;
          target.incomplete = true;
          aside.push({ reason: error.message, blob: found.blob });
        }
      }
      targets.set(bucketKey(bucket), target);
    }
    return targets;
  }

  #replacements(
    buckets: readonly Bucket[],
    index: StreamIndex,
    targets: ReadonlyMap<string, Summary>,
  ): SummaryReplacement[] {
    const { tags, retention } = this.#options;
    return buckets.map((bucket, at) => ({
      bucket,
      expectedTag: index.summaryTags[at]!,
      tag: tags(),
      blob: encodeSummary(targets.get(bucketKey(bucket))!),
      expiresAtMs: expiresAtMs(bucket, retention),
    }));
  }

  async #readParts(
    partition: number,
    stream: string,
    parts: readonly PartRef[],
  ): Promise<ReadParts> {
    const { store, partContext } = this.#options;
    const tags = parts.map(({ tag }) => tag);
    const blobs = await store.readParts(partition, stream, tags);
    const summaries: { part: PartRef; summary: Summary }[] = [];
    const unusable: PartRef[] = [];
    const aside: Aside[] = [];
    for (const [at, part] of parts.entries()) {
      const blob = blobs[at] ?? null;
      if (blob === null) {
        unusable.push(part);
        continue;
      }
      try {
        summaries.push({ part, summary: decodeSummary(blob, partContext) });
      } catch (error) {
        if (!(error instanceof SketchDecodeError)) throw error;
        unusable.push(part);
        aside.push({ reason: error.message, blob });
      }
    }
    const lostParts = tags.filter((_, at) => (blobs[at] ?? null) === null);
    const removeParts = tags.filter((_, at) => (blobs[at] ?? null) !== null);
    return { summaries, unusable, removal: { removeParts, lostParts }, aside };
  }
}

/** What one commit does, beside the time of the next visit. */
interface Change {
  readonly removeParts: readonly Tag[];
  readonly lostParts: readonly Tag[];
  readonly addParts: readonly NewPart[];
  readonly summaries: readonly SummaryReplacement[];
  readonly aside: readonly Aside[];
}

/** Commits only the time of the next visit. */
const NO_CHANGE: Change = {
  removeParts: [],
  lostParts: [],
  addParts: [],
  summaries: [],
  aside: [],
};

function markIncomplete(merged: Summary[], context: SummaryContext): void {
  if (merged.length === 0) merged.push(new Summary(context));
  merged[0]!.incomplete = true;
}
