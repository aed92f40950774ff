/**
 * What the streams room answers: plain data, times in epoch ms. `api` turns times into ISO 8601.
 */
import type { Level } from './buckets.ts';
import type { Segment } from './shares.ts';

/** The window that an answer covers, and how completely. */
export interface SpanFacts {
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** True when an edge covers more than asked for: finer buckets of that time are gone. */
  readonly widened: boolean;
  /** Time of the oldest event that may not be counted yet, or of the read if there is none. */
  readonly asOfMs: number;
  /** True when `asOfMs` is more than LAGGING_MS behind the time of the read. */
  readonly lagging: boolean;
  /**
   * What could not be read, by name: `partition 3`, `partition 0 hour:2026-11-30T10:00Z`,
   * `dimension country before 2026-11-30T10:00:00.000Z`.
   */
  readonly missing: readonly string[];
  /** Only when asked for. */
  readonly explain?: Explain;
}

/** Part of every answer over a window of one stream. */
export interface WindowFacts extends SpanFacts {
  readonly stream: string;
  /** The part of the stream that was asked about; null: the whole stream. */
  readonly segment: Segment | null;
}

/** How an answer came about. Questions that were answered together share what was read. */
export interface Explain {
  /** Window by window, each in the order of the calendar; the first EXPLAINED_SUMMARIES_MAX. */
  readonly summaries: readonly ExplainedSummary[];
  /** Of all summaries read, also those beyond the list. */
  readonly summaryCount: number;
  readonly summaryBytes: number;
  /** Time spent on each step; partitions are read side by side, so they overlap. */
  readonly spent: {
    /** Asking the partitions what there is. */
    readonly indexMs: number;
    /** Waiting for bytes. */
    readonly fetchMs: number;
    readonly decodeMs: number;
    /** Working out the answer from the decoded summaries. */
    readonly answerMs: number;
  };
}

export interface ExplainedSummary {
  readonly partition: number;
  readonly stream: string;
  readonly segment: Segment | null;
  readonly level: Level;
  /** Start of its bucket. */
  readonly startMs: number;
  /** A closed summary from this process's cache or from the store, or an open part. */
  readonly source: 'cache' | 'store' | 'part';
  /** In memory, decoded. */
  readonly bytes: number;
  readonly itemsExact: boolean;
  readonly actorsExact: boolean;
  /** No item that it does not list has a larger count in it; 0 when exact. */
  readonly cut: number;
  /** A part: since it was folded. A closed summary: since the end of its bucket. */
  readonly ageMs: number;
}

/** What a ranking counts: events, or how many different actors an item had. */
export type RankedBy = 'events' | 'actors';

/**
 * Of one item. By events: lower <= true count <= upper always; `count` is `upper`. By actors:
 * `count` is the estimate of the different actors, with bounds at 95 %; all equal when exact.
 */
export interface CountBounds {
  readonly count: number;
  readonly lower: number;
  readonly upper: number;
}

/** Against the ranking of the window of the same length right before. */
export interface Movement {
  /** 1-based; null when it was not among the first PREVIOUS_RANKS_MAX. */
  readonly previousRank: number | null;
  /** True when it certainly did not occur in the window before. */
  readonly isNew: boolean;
}

/** The window that rows were compared with. */
export interface ComparedWindow {
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** False where it is kept only in part, or not all of it could be read: no row is new then. */
  readonly complete: boolean;
}

/** `previousRank` and `isNew` only when movement was asked for. */
export interface TopRow extends CountBounds, Partial<Movement> {
  /** 1-based, in the whole ranking; order is the measure descending, then the item's bytes. */
  readonly rank: number;
  readonly item: string;
  /** By actors: at most so many events named the item. */
  readonly events?: number;
  /** With decay: what the ranking is by, an upper bound like `count`. */
  readonly score?: number;
  /** With decay: the score is at least this. */
  readonly scoreLower?: number;
}

export interface TopAnswer extends WindowFacts {
  readonly by: RankedBy;
  /** The rows with ranks from offset + 1 on; fewer than k when there are no more. */
  readonly items: readonly TopRow[];
  /** As asked for. */
  readonly k: number;
  readonly offset: number;
  /** So many first rows of the ranking are certainly those on top; at most offset + k. */
  readonly certainRanks: number;
  /** Exact sum of `count` over the events of the window, hidden items included. */
  readonly total: number;
  readonly exact: boolean;
  /** A count (by events) is at most this much too high with 99.3 % confidence; 0 when exact. */
  readonly errorBound: number;
  /** No shown item beyond the ranks up to offset + k has a larger measure. */
  readonly maxUnlisted: number;
  readonly saturated: boolean;
  /** Of the half-life weighting; null without. */
  readonly halfLifeMs: number | null;
  /** By actors: relative error of an estimate, the largest of the rows; 0 when all are exact. */
  readonly standardError?: number;
  /** With movement. */
  readonly previous?: ComparedWindow;
}

/** A number of different actors. */
export interface DistinctBounds {
  readonly estimate: number;
  /** Bounds at 95 %; equal to the estimate when exact. */
  readonly lower: number;
  readonly upper: number;
  /** Relative; 0 when exact. */
  readonly standardError: number;
  readonly exact: boolean;
}

export interface DistinctAnswer extends WindowFacts, DistinctBounds {
  /** Sum of `count` over the events of the window. */
  readonly total: number;
  /** Sum of `count` over the events that named no actor: they are left out. */
  readonly withoutActor: number;
}

/** The different actors of one item; never more than `events`. */
export interface ItemDistinctAnswer extends WindowFacts, DistinctBounds {
  readonly item: string;
  /** Bounds of how often the item occurred. */
  readonly events: CountBounds;
  /** True when moderation hides the item: all numbers are 0 then. */
  readonly blocked: boolean;
}

interface DistinctPart extends DistinctBounds {
  readonly value: string;
  /** Sum of `count` over its events, exact. */
  readonly total: number;
}

/**
 * The different actors of each value of a dimension. An actor with several values is in several
 * parts but once in the union; one whose events lack the dimension is in the union only.
 */
export interface DistinctByAnswer extends WindowFacts {
  readonly dimension: string;
  /** Of the whole stream. */
  readonly union: DistinctBounds;
  /** Only values that occurred; by estimate descending, then the value's bytes. */
  readonly parts: readonly DistinctPart[];
  /** Of the estimates. */
  readonly sumOfParts: number;
  /** Sum of `count` over the events of the window. */
  readonly total: number;
  readonly withoutActor: number;
  /** Sum of `count` over the events that did not name the dimension; never negative. */
  readonly without: number;
}

export type SetOperation = 'union' | 'intersection' | 'difference';

/** Different actors of several streams together; a difference is of the first less the second. */
export interface SetAnswer extends SpanFacts {
  readonly op: SetOperation;
  readonly segment: Segment | null;
  /** The streams in the order asked for, each by itself. */
  readonly streams: readonly (DistinctBounds & {
    readonly stream: string;
    readonly fromMs: number;
    readonly toMs: number;
    readonly total: number;
  })[];
  /** Null when the error is as large as the answer: `conclusive` is false then. */
  readonly estimate: number | null;
  /** Bounds at 95 %. */
  readonly lower: number;
  readonly upper: number;
  /** Relative to the estimate; null with it; 0 when exact. */
  readonly standardError: number | null;
  readonly exact: boolean;
  readonly conclusive: boolean;
}

export interface ItemCount extends CountBounds {
  readonly item: string;
  /** True where the upper bound says nothing: the item need not have occurred at all. */
  readonly belowNoiseFloor: boolean;
  /** True when moderation hides the item: its counts are 0 then. */
  readonly blocked: boolean;
}

export interface ItemsAnswer extends WindowFacts {
  /** In the order asked for. */
  readonly items: readonly ItemCount[];
  readonly total: number;
  readonly exact: boolean;
  readonly errorBound: number;
  readonly saturated: boolean;
}

export interface SeriesPoint extends CountBounds {
  readonly fromMs: number;
  readonly toMs: number;
  readonly exact: boolean;
  /** Only of a stream; its `count` is the total, exact. */
  readonly distinct?: DistinctBounds;
}

export interface SeriesAnswer extends WindowFacts {
  readonly item?: string;
  /** Only of an item: true when moderation hides it; its counts are 0 then. */
  readonly blocked?: boolean;
  /** As asked for: `15m`, `1h`, `1d`, `1w`, `1mo`. */
  readonly step: string;
  /** The steps begin by its clock. */
  readonly zone: string;
  /** Oldest first, without gaps; times that are not kept any more are left out. */
  readonly points: readonly SeriesPoint[];
}

/** One earlier window that says what is usual, with an item's count in it. */
interface UsualCount extends CountBounds {
  readonly fromMs: number;
  readonly toMs: number;
  /** How many times as busy the rest of the stream is now: `count` is to be multiplied by it. */
  readonly scale: number;
}

/** `previousRank` is the rank by counts, not by score, in the window before. */
export interface TrendingRow extends CountBounds, Partial<Movement> {
  /** 1-based; order is score descending, then the item's bytes. */
  readonly rank: number;
  readonly item: string;
  /** What the earlier windows let expect: their counts' sum by the sum of 1 / `scale`. */
  readonly expected: number;
  /** `lower` divided by `expected`; null when nothing was expected. */
  readonly lift: number | null;
  /** Standard deviations above what is usual (trending.ts). */
  readonly score: number;
  /** In the order of the calendar, oldest first. */
  readonly days: readonly UsualCount[];
}

export interface TrendingAnswer extends WindowFacts {
  readonly by: RankedBy;
  readonly items: readonly TrendingRow[];
  /** As asked for. */
  readonly k: number;
  /** Rows there are altogether: `items` are the first k. */
  readonly trendingCount: number;
  /** Exact sum of `count` over the events of the window. */
  readonly total: number;
  readonly exact: boolean;
  readonly baseline: {
    /** The same clock time on earlier days, or, for want of history, the windows before. */
    readonly kind: 'days' | 'windows';
    /** Earlier windows with data, of so many asked for. */
    readonly used: number;
    readonly of: number;
    readonly zone: string;
  };
  /** An item with a lower bound below this does not trend. */
  readonly minSupport: number;
  /** Nor one with a score below this. */
  readonly threshold: number;
  readonly previous?: ComparedWindow;
}

/** What would be shown but waits for a decision of the moderators. */
export interface ModerationQueueAnswer extends WindowFacts {
  /** By count descending, then the item's bytes. */
  readonly items: readonly (CountBounds & { readonly item: string })[];
  readonly k: number;
}

export interface StreamList {
  /** In the order of their names' bytes. */
  readonly streams: readonly { readonly stream: string }[];
  /** Pass as `after` for the next page; null at the end. */
  readonly next: string | null;
  readonly missing: readonly string[];
}
