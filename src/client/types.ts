/**
 * The JSON of the HTTP API as a client sends and receives it. Times are ISO 8601 in UTC with
 * milliseconds; counts are exact integers up to 2^53 - 1.
 */

export interface TallyEvent {
  /** 1..512 bytes of UTF-8. */
  readonly item: string;
  /** 1..128 bytes; `default` when left out. */
  readonly stream?: string;
  /** 1..512 bytes; never stored, only a keyed hash of it. */
  readonly actor?: string;
  /** 1..1,000,000; 1 when left out. */
  readonly count?: number;
  /** Epoch milliseconds, or ISO 8601 with an offset; the time of arrival when left out. */
  readonly at?: number | string;
}

export interface EventError {
  /** 0-based place in the batch that was sent. */
  readonly index: number;
  readonly code: string;
  readonly message: string;
}

export interface SendAnswer {
  readonly accepted: number;
  /** All that were refused; `errors` may list only the first of them. */
  readonly rejected: number;
  /** What an earlier request with the same key had accepted; `accepted` is 0 then. */
  readonly duplicate: number;
  readonly errors: readonly EventError[];
}

/** Part of every answer over a window. */
export interface WindowFacts {
  readonly stream: string;
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
  /** The answer counts everything that was acknowledged before this time. */
  readonly asOf: string;
  /** `asOf` lies more than a few seconds back. */
  readonly lagging?: boolean;
  /** An older answer, served because the store cannot be read now. */
  readonly stale?: boolean;
  /** Something could not be read: the numbers are too small by what `missing` names. */
  readonly partial?: boolean;
  readonly missing?: readonly string[];
}

/** lower <= true count <= upper, always; `count` is `upper`. */
export interface CountBounds {
  readonly count: number;
  readonly lower: number;
  readonly upper: number;
}

export interface TopRow extends CountBounds {
  /** 1-based. */
  readonly rank: number;
  readonly item: string;
}

export interface TopAnswer extends WindowFacts {
  readonly items: readonly TopRow[];
  readonly k: number;
  readonly returned: number;
  /** Exact sum of all counts in the window. */
  readonly total: number;
  readonly exact: boolean;
  readonly errorBound: number;
  /** No item that is not listed has a larger count. */
  readonly maxUnlisted: number;
  readonly saturated?: boolean;
}

export interface DistinctAnswer extends WindowFacts {
  readonly estimate: number;
  /** Relative; 0 when exact. */
  readonly standardError: number;
  /** At 95 %. */
  readonly lower: number;
  readonly upper: number;
  readonly exact: boolean;
  readonly total: number;
  /** Sum of the counts of events without an actor: they are left out. */
  readonly withoutActor: number;
}

export interface ItemCount extends CountBounds {
  readonly item: string;
  /** The upper bound says nothing: the item need not have occurred at all. */
  readonly belowNoiseFloor?: boolean;
}

export interface ItemCountsAnswer extends WindowFacts {
  /** In the order asked for. */
  readonly items: readonly ItemCount[];
  readonly total: number;
  readonly exact: boolean;
  readonly errorBound: number;
  readonly saturated?: boolean;
}

export interface SeriesPoint extends CountBounds {
  readonly from: string;
  readonly to: string;
  readonly exact: boolean;
  /** Only in the series of a whole stream. */
  readonly distinct?: {
    readonly estimate: number;
    readonly lower: number;
    readonly upper: number;
    readonly exact: boolean;
  };
}

export interface SeriesAnswer extends WindowFacts {
  readonly item?: string;
  readonly stepSeconds: number;
  readonly points: readonly SeriesPoint[];
}

export interface StreamInfo {
  readonly stream: string;
  /** Changes when the stream is deleted, and only then. */
  readonly generation: string;
}

export interface StreamList {
  readonly streams: readonly StreamInfo[];
  /** Pass as `after` for the next page; null at the end. */
  readonly next: string | null;
  readonly partial?: boolean;
  readonly missing?: readonly string[];
}
