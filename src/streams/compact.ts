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
import { decodeSummary, encodeColumns } from '../sketches/summary-codec.ts';
import { type Bucket, bucketKey, expiresAtMs, keptFrom, type Retention } from './buckets.ts';
import { compactionDueMs, openBuckets, planCompaction } from './compaction-plan.ts';
import { COMPACT_STREAMS_MAX } from './limits.ts';
import { mergeExactly, partsOf } from './parts.ts';
import type { StreamRegistry } from './registry.ts';
import { readShareIndex } from './share-index.ts';
import { shareOf } from './shares.ts';
import type {
  Aside,
  CommitOutcome,
  NewPart,
  PartRef,
  ShareIndex,
  StreamStore,
  SummaryReplacement,
} from './store-port.ts';

export interface CompactOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  /** With PART_SHAPE. */
  readonly partContext: SummaryContext;
  readonly registry: StreamRegistry;
}

/** What the share's stream has set for its closed summaries. */
interface Closing {
  readonly context: SummaryContext;
  /** Of the sum of a bucket's parts: where it becomes a sketch, then no smaller one. */
  readonly sumContext: SummaryContext;
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

  /** Visits the shares whose time has come; returns how many it visited. */
  async compactPartition(partition: number): Promise<number> {
    const { store, clock } = this.#options;
    const shares = await store.readDueShares(partition, clock.nowMs(), COMPACT_STREAMS_MAX);
    for (const share of shares) await this.compactShare(partition, share);
    return shares.length;
  }

  /** Does what is due for one share; stops when somebody else was faster. */
  async compactShare(partition: number, share: string): Promise<void> {
    const { store, clock } = this.#options;
    let index: ShareIndex;
    try {
      index = await readShareIndex(store, partition, share, []);
    } catch (error) {
      if (!(error instanceof BrokenStreamError)) throw error;
      // It must not stand before the others at every visit.
      await store.cancelVisit(partition, share);
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
        share,
        generation: index.generation,
        remainingParts: open.length,
        compactAtMs: compactionDueMs(open, nowMs),
      });
    };
    for (const run of plan.merges) {
      const outcome = await commit(await this.#mergeRun(partition, share, run));
      if (outcome === 'conflict') return;
    }
    const closing = await this.#closingOf(share);
    for (const parts of plan.groups) {
      const change = await this.#compactGroup(partition, share, index, parts, closing);
      const outcome = await commit(change);
      if (outcome === 'conflict') return;
    }
    if (plan.merges.length + plan.groups.length === 0) await commit(NO_CHANGE);
  }

  async #mergeRun(partition: number, share: string, run: readonly PartRef[]): Promise<Change> {
    const { partContext, tags } = this.#options;
    const read = await this.#readParts(partition, share, run);
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

  async #closingOf(share: string): Promise<Closing> {
    const { registry, partContext } = this.#options;
    const { closedShape, settings } = await registry.ofUpkeep(shareOf(share).stream);
    const { hash, shape: partShape } = partContext;
    const { width, depth, candidates } = closedShape;
    return {
      context: { hash, shape: closedShape },
      sumContext: { hash, shape: { ...partShape, width, depth, candidates } },
      retention: settings.retention,
    };
  }

  /** Null when somebody else was faster. */
  async #compactGroup(
    partition: number,
    share: string,
    before: ShareIndex,
    parts: readonly PartRef[],
    closing: Closing,
  ): Promise<Change | null> {
    const { store, clock } = this.#options;
    const { retention } = closing;
    const nowMs = clock.nowMs();
    const open = openBuckets(parts).map(({ bucket }) => ({
      bucket,
      levels: keptFrom(bucket, nowMs, retention),
    }));
    const buckets = distinctBuckets(open.flatMap(({ levels }) => levels));
    const index = await readShareIndex(store, partition, share, buckets);
    if (index.generation !== before.generation) return null;
    const read = await this.#readParts(partition, share, parts);
    const aside = [...read.aside];
    const targets = await this.#readTargets(partition, share, buckets, index, aside, closing);
    if (targets === null) return null;
    for (const { bucket, levels } of open) {
      const added = sumOf(bucket, read, closing.sumContext);
      for (const level of levels) targets.get(bucketKey(level))!.merge(added);
    }
    return {
      ...read.removal,
      addParts: [],
      summaries: this.#replacements(buckets, index, targets, retention),
      aside,
    };
  }

  /** The summaries that are there now, or empty ones. A damaged one is replaced, and says so. */
  async #readTargets(
    partition: number,
    share: string,
    buckets: readonly Bucket[],
    index: ShareIndex,
    aside: Aside[],
    { context }: Closing,
  ): Promise<Map<string, Summary> | null> {
    const { store } = this.#options;
    const [stored, viewers] = await Promise.all([
      store.readSummaries(partition, share, buckets, 'counts'),
      store.readSummaries(partition, share, buckets, 'viewers'),
    ]);
    const targets = new Map<string, Summary>();
    for (const [at, bucket] of buckets.entries()) {
      const tag = index.summaryTags[at]!;
      const found = stored[at] ?? null;
      let target = new Summary(context);
      if (tag === 'broken') {
        target.incomplete = true;
      } else if (tag !== (found?.tag ?? null) || (viewers[at]?.tag ?? tag) !== tag) {
        return null;
      } else if (found !== null) {
        target = targetOf(found.blob, viewers[at]?.blob, context, aside);
      }
      targets.set(bucketKey(bucket), target);
    }
    return targets;
  }

  #replacements(
    buckets: readonly Bucket[],
    index: ShareIndex,
    targets: ReadonlyMap<string, Summary>,
    retention: Retention,
  ): SummaryReplacement[] {
    const { tags } = this.#options;
    return buckets.map((bucket, at) => ({
      bucket,
      expectedTag: index.summaryTags[at]!,
      tag: tags(),
      ...encodeColumns(targets.get(bucketKey(bucket))!),
      expiresAtMs: expiresAtMs(bucket, retention),
    }));
  }

  async #readParts(
    partition: number,
    share: string,
    parts: readonly PartRef[],
  ): Promise<ReadParts> {
    const { store, partContext } = this.#options;
    const tags = parts.map(({ tag }) => tag);
    const blobs = await store.readParts(partition, share, tags);
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

/** What is stored, as far as it is whole: what is damaged goes aside, and the summary says so. */
function targetOf(
  counts: Uint8Array,
  viewers: Uint8Array | undefined,
  context: SummaryContext,
  aside: Aside[],
): Summary {
  try {
    const whole = decodeSummary(counts, context, viewers);
    if (whole.viewersLoaded) return whole;
  } catch (error) {
    if (!(error instanceof SketchDecodeError)) throw error;
    aside.push({ reason: error.message, blob: Buffer.concat([counts, viewers ?? Buffer.of()]) });
  }
  const rest = decodeCounts(counts, context);
  rest.incomplete = true;
  return rest;
}

/** Empty when they are damaged. */
function decodeCounts(counts: Uint8Array, context: SummaryContext): Summary {
  try {
    const summary = decodeSummary(counts, context);
    if (!summary.viewersLoaded) summary.loseViewers();
    return summary;
  } catch (error) {
    if (!(error instanceof SketchDecodeError)) throw error;
    return new Summary(context);
  }
}

/** The parts of one bucket as one summary: exact as far as a part can be. */
function sumOf(
  bucket: Bucket,
  { summaries, unusable }: ReadParts,
  context: SummaryContext,
): Summary {
  const key = bucketKey(bucket);
  const sum = new Summary(context);
  for (const { part, summary } of summaries) {
    if (bucketKey(part.bucket) === key) sum.merge(summary);
  }
  sum.incomplete ||= unusable.some((part) => bucketKey(part.bucket) === key);
  return sum;
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

function distinctBuckets(buckets: readonly Bucket[]): Bucket[] {
  return [...new Map(buckets.map((bucket) => [bucketKey(bucket), bucket])).values()];
}

function markIncomplete(merged: Summary[], context: SummaryContext): void {
  if (merged.length === 0) merged.push(new Summary(context));
  merged[0]!.incomplete = true;
}
