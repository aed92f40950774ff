/**
 * What the streams room answers: plain data, times in epoch ms. `api` turns times into ISO 8601.
 */

/** Part of every answer over a window. */
export interface WindowFacts {
  readonly stream: string;
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** Time of the oldest event that may not be counted yet, or of the read if there is none. */
  readonly asOfMs: number;
  /** True when `asOfMs` is more than LAGGING_MS behind the time of the read. */
  readonly lagging: boolean;
  /** What could not be read, by name (`partition 3`, `partition 0 hour:2026-11-30T10:00Z`). */
  readonly missing: readonly string[];
}

/** Count of one item: lower <= true count <= upper always; `count` is `upper`. */
export interface CountBounds {
  readonly count: number;
  readonly lower: number;
  readonly upper: number;
}

export interface TopRow extends CountBounds {
  /** 1-based; order is count descending, then the item's UTF-8 bytes. */
  readonly rank: number;
  readonly item: string;
}

export interface TopAnswer extends WindowFacts {
  readonly items: readonly TopRow[];
  /** As asked for; `items` has fewer rows when there are fewer items. */
  readonly k: number;
  /** Exact sum of `count` over the events of the window. */
  readonly total: number;
  readonly exact: boolean;
  /** A count is at most this much too high with 99.3 % confidence; 0 when exact. */
  readonly errorBound: number;
  /** No item that is not listed has a larger count. */
  readonly maxUnlisted: number;
  readonly saturated: boolean;
}

export interface DistinctAnswer extends WindowFacts {
  readonly estimate: number;
  /** Relative; 0 when exact. */
  readonly standardError: number;
  /** Bounds at 95 %; equal to the estimate when exact. */
  readonly lower: number;
  readonly upper: number;
  readonly exact: boolean;
  /** Sum of `count` over the events of the window. */
  readonly total: number;
  /** Sum of `count` over the events that named no actor: they are left out. */
  readonly withoutActor: number;
}

export interface ItemCount extends CountBounds {
  readonly item: string;
  /** True where the upper bound says nothing: the item need not have occurred at all. */
  readonly belowNoiseFloor: boolean;
}

export interface ItemsAnswer extends WindowFacts {
  /** In the order asked for. */
  readonly items: readonly ItemCount[];
  readonly total: number;
  readonly exact: boolean;
  readonly errorBound: number;
  readonly saturated: boolean;
}

export interface SeriesPoint {
  readonly fromMs: number;
  readonly toMs: number;
  readonly exact: boolean;
  /** For an item: its bounds. For a stream: `count` = total, exact, and the distinct actors. */
  readonly count: number;
  readonly lower: number;
  readonly upper: number;
  readonly distinct?: {
    readonly estimate: number;
    readonly lower: number;
    readonly upper: number;
    readonly exact: boolean;
  };
}

export interface SeriesAnswer extends WindowFacts {
  readonly item?: string;
  readonly stepMs: number;
  /** Oldest first, without gaps; times that are not kept any more are left out. */
  readonly points: readonly SeriesPoint[];
}

export interface StreamList {
  /** In the order of their names' bytes. */
  readonly streams: readonly { readonly stream: string }[];
  /** Pass as `after` for the next page; null at the end. */
  readonly next: string | null;
  readonly missing: readonly string[];
}
