/** The questions a stream answers. Each reads one moment of every partition and says of when. */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { SummaryView } from '../sketches/summary-view.ts';
import type {
  CountBounds,
  DistinctAnswer,
  ItemsAnswer,
  SeriesAnswer,
  SeriesPoint,
  StreamList,
  TopAnswer,
  WindowFacts,
} from './answers.ts';
import {
  type Bucket,
  bucketOf,
  EXPIRY_SLACK_MS,
  LEVEL_MS,
  LEVELS,
  type Retention,
} from './buckets.ts';
import type { BucketSummary, ReadResult, StreamReader } from './reader.ts';
import { FIRST_GENERATION, type Generation, type StreamStore } from './store-port.ts';
import { coverSpan, seriesSpans, type Span, spanOf, type WindowRequest } from './window.ts';

/** Buckets freed in one call after a stream was deleted. */
const DROP_BUCKETS_MAX = 1_024;

export interface QueryOptions {
  readonly store: StreamStore;
  readonly reader: StreamReader;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly hash: KeyedHash;
  readonly retention: Retention;
}

export interface StreamQuestion {
  readonly stream: string;
  readonly window: WindowRequest;
}

/**
 * All methods reject with WindowError for a window that cannot be answered, and with
 * StoreUnavailableError when nothing could be read; else what is missing is named in `missing`.
 */
export class StreamQueries {
  readonly #options: QueryOptions;

  constructor(options: QueryOptions) {
    this.#options = options;
  }

  /** The k items with the largest counts; k >= 1. */
  async top({ stream, window, k }: StreamQuestion & { readonly k: number }): Promise<TopAnswer> {
    const { facts, view } = await this.#readWindow(stream, window);
    const { rows, maxUnlisted } = view.top(k);
    return {
      ...facts,
      items: rows.map(({ item, upper, lower }, index) => ({
        rank: index + 1,
        item,
        ...boundsOf({ lower, upper }),
      })),
      k,
      total: view.total,
      exact: view.itemsExact,
      errorBound: view.errorBound,
      maxUnlisted,
      saturated: view.saturated,
    };
  }

  /** Different actors. */
  async distinct({ stream, window }: StreamQuestion): Promise<DistinctAnswer> {
    const { facts, view } = await this.#readWindow(stream, window);
    const { total, withoutActor } = view;
    return { ...facts, ...view.distinct(), total, withoutActor };
  }

  /** The counts of some items, in the order asked for. */
  async items({
    stream,
    window,
    items,
  }: StreamQuestion & { readonly items: readonly string[] }): Promise<ItemsAnswer> {
    const { facts, view } = await this.#readWindow(stream, window);
    const exact = view.itemsExact;
    return {
      ...facts,
      items: items.map((item) => {
        const bounds = view.countOf(item);
        return {
          item,
          ...boundsOf(bounds),
          belowNoiseFloor: bounds.lower === 0 && bounds.upper > 0,
        };
      }),
      total: view.total,
      exact,
      errorBound: view.errorBound,
      saturated: view.saturated,
    };
  }

  /** A point for each step: an item's counts, or the stream's total and its distinct actors. */
  async series({
    stream,
    window,
    stepMs,
    item,
  }: StreamQuestion & { readonly stepMs: number; readonly item?: string }): Promise<SeriesAnswer> {
    const { clock, reader, retention } = this.#options;
    const nowMs = clock.nowMs();
    const spans = seriesSpans(window, stepMs, nowMs, retention);
    const covered = spans.map((span) => coverSpan(span, nowMs, retention));
    const buckets = covered.flatMap((cover) => cover.buckets);
    const read = await reader.read(stream, { buckets }, nowMs);
    const byPoint = groupByPoint(read.summaries, spans[0]!.fromMs, stepMs);
    const points = covered.flatMap((cover, index) => {
      // A time that no level keeps any more is cut off: its count is not known to be 0.
      if (cover.buckets.length === 0) return [];
      const { fromMs, toMs } = cover;
      return [pointOf({ fromMs, toMs }, this.#viewOf(byPoint.get(index) ?? []), item)];
    });
    const { toMs } = covered.at(-1)!;
    const facts = factsOf(stream, { fromMs: points[0]?.fromMs ?? toMs, toMs }, read);
    return item === undefined ? { ...facts, stepMs, points } : { ...facts, item, stepMs, points };
  }

  /** Streams in the order of their names' bytes, after `after`. */
  async list(after: string | null, limit: number): Promise<StreamList> {
    const names = new Set<string>();
    const missing: string[] = [];
    let someAreLeft = false;
    for (const [partition, listed] of (await this.#listAll(after, limit)).entries()) {
      if (listed === null) missing.push(`partition ${partition}`);
      else for (const name of listed) names.add(name);
      someAreLeft ||= listed?.length === limit;
    }
    if (missing.length === this.#options.store.partitionCount) {
      throw new StoreUnavailableError('no partition could be read');
    }
    const streams = [...names].sort(compareUtf8).slice(0, limit);
    const next = someAreLeft || names.size > limit ? (streams.at(-1) ?? null) : null;
    return { streams: streams.map((stream) => ({ stream })), next, missing };
  }

  /**
   * A text that changes when the stream is deleted, and only then: a partition without any of the
   * stream forgets its generation in time, so one that still knows it decides.
   */
  async generation(stream: string): Promise<Generation> {
    const generations = await this.#onEach(async (partition) => {
      return (await this.#options.store.readIndex(partition, stream, [])).generation;
    });
    const known = new Set(generations.filter((generation) => generation !== FIRST_GENERATION));
    return [...known].join('.') || FIRST_GENERATION;
  }

  /** Forgets all that was acknowledged before, what waits in the log included. */
  async delete(stream: string): Promise<void> {
    const { store, tags } = this.#options;
    const next = tags();
    await this.#onEach((partition) => store.deleteStream(partition, stream, next));
    await this.#onEach((partition) => this.#freeSummaries(partition, stream));
  }

  /** They are unreadable already and expire by themselves: only their memory is at stake. */
  async #freeSummaries(partition: number, stream: string): Promise<void> {
    const { store, clock, retention } = this.#options;
    const buckets = bucketsOfAllLevels(clock.nowMs(), retention);
    try {
      for (let at = 0; at < buckets.length; at += DROP_BUCKETS_MAX) {
        await store.dropStaleSummaries(partition, stream, buckets.slice(at, at + DROP_BUCKETS_MAX));
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  async #readWindow(
    stream: string,
    window: WindowRequest,
  ): Promise<{ facts: WindowFacts; view: SummaryView }> {
    const { clock, reader, retention } = this.#options;
    const nowMs = clock.nowMs();
    const covered = coverSpan(spanOf(window, nowMs), nowMs, retention);
    const read = await reader.read(stream, covered, nowMs);
    return { facts: factsOf(stream, covered, read), view: this.#viewOf(read.summaries) };
  }

  #viewOf(summaries: readonly BucketSummary[]): SummaryView {
    return new SummaryView(
      summaries.map(({ summary }) => summary),
      this.#options.hash,
    );
  }

  /** The names listed by each partition; null for one that cannot be read. */
  #listAll(after: string | null, limit: number): Promise<(string[] | null)[]> {
    return this.#onEach(async (partition) => {
      try {
        const listed = await this.#options.store.listStreams(partition, after, limit);
        return listed.map(({ stream }) => stream);
      } catch (error) {
        if (error instanceof StoreUnavailableError) return null;
        throw error;
      }
    });
  }

  #onEach<Result>(run: (partition: number) => Promise<Result>): Promise<Result[]> {
    const { partitionCount } = this.#options.store;
    return Promise.all(Array.from({ length: partitionCount }, (_, partition) => run(partition)));
  }
}

function factsOf(stream: string, { fromMs, toMs }: Span, read: ReadResult): WindowFacts {
  const { asOfMs, lagging, missing } = read;
  return { stream, fromMs, toMs, asOfMs, lagging, missing };
}

function boundsOf({ lower, upper }: { lower: number; upper: number }): CountBounds {
  return { count: upper, lower, upper };
}

function pointOf(span: Span, view: SummaryView, item: string | undefined): SeriesPoint {
  if (item !== undefined) {
    return { ...span, exact: view.itemsExact, ...boundsOf(view.countOf(item)) };
  }
  const { total } = view;
  const { estimate, lower, upper, exact } = view.distinct();
  return {
    ...span,
    exact: true,
    ...boundsOf({ lower: total, upper: total }),
    distinct: { estimate, lower, upper, exact },
  };
}

function groupByPoint(
  summaries: readonly BucketSummary[],
  firstMs: number,
  stepMs: number,
): Map<number, BucketSummary[]> {
  const byPoint = new Map<number, BucketSummary[]>();
  for (const entry of summaries) {
    const index = Math.floor((entry.bucket.startMs - firstMs) / stepMs);
    const point = byPoint.get(index);
    if (point === undefined) byPoint.set(index, [entry]);
    else point.push(entry);
  }
  return byPoint;
}

/** Every bucket that can hold something now. */
function bucketsOfAllLevels(nowMs: number, retention: Retention): Bucket[] {
  return LEVELS.flatMap((level) => {
    const newest = bucketOf(level, nowMs + EXPIRY_SLACK_MS).startMs;
    const reachMs = retention[level] + 2 * EXPIRY_SLACK_MS + LEVEL_MS[level];
    const count = Math.ceil(reachMs / LEVEL_MS[level]);
    return Array.from({ length: count }, (_, index) => ({
      level,
      startMs: newest - index * LEVEL_MS[level],
    }));
  });
}
