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
  /** Values by dimension, up to 8; dimensions that its stream does not keep are ignored. */
  readonly dims?: Readonly<Record<string, string>>;
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

/** Part of every answer over a time. */
export interface SpanFacts {
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
  /** An edge covers more than asked for: finer buckets of that time are gone. */
  readonly widened?: boolean;
  /** The answer counts everything that was acknowledged before this time. */
  readonly asOf: string;
  /** `asOf` lies more than a few seconds back. */
  readonly lagging?: boolean;
  /** An older answer, served because the store cannot be read now. */
  readonly stale?: boolean;
  /** Something could not be read: the numbers are too small by what `missing` names. */
  readonly partial?: boolean;
  readonly missing?: readonly string[];
  /** Only when asked for. */
  readonly explain?: Explain;
}

/** Part of every answer over a window of one stream. */
export interface WindowFacts extends SpanFacts {
  readonly stream: string;
  /** As asked for: `country:IN`. */
  readonly where?: string;
}

/** What was read for an answer, and how long each step took. */
export interface Explain {
  readonly summaries: readonly {
    readonly partition: number;
    readonly stream: string;
    readonly where?: string;
    readonly level: 'minute' | 'hour' | 'day';
    readonly start: string;
    readonly source: 'cache' | 'store' | 'part';
    readonly bytes: number;
    readonly itemsExact: boolean;
    readonly actorsExact: boolean;
    /** No item that it does not list has a larger count in it. */
    readonly cut: number;
    readonly ageSeconds: number;
  }[];
  /** Of all summaries read, also those beyond the list. */
  readonly summaryCount: number;
  readonly summaryBytes: number;
  readonly spentMs: {
    readonly index: number;
    readonly fetch: number;
    readonly decode: number;
    readonly answer: number;
  };
}

/**
 * By events: lower <= true count <= upper, always, and `count` is `upper`. By actors: `count` is an
 * estimate with bounds at 95 %.
 */
export interface CountBounds {
  readonly count: number;
  readonly lower: number;
  readonly upper: number;
}

export type RankedBy = 'events' | 'actors';

/** Only when movement was asked for. */
export interface Movement {
  /** 1-based, in the window before; null when it was not among the first 500. */
  readonly previousRank?: number | null;
  /** It certainly did not occur in the window before. */
  readonly isNew?: boolean;
}

export interface PreviousWindow {
  readonly from: string;
  readonly to: string;
  /** False where it is kept only in part: no row is new then. */
  readonly complete: boolean;
}

export interface TopRow extends CountBounds, Movement {
  /** 1-based. */
  readonly rank: number;
  readonly item: string;
  /** By actors: at most so many events named the item. */
  readonly events?: number;
  /** With decay: what the ranking is by, never below the true score. */
  readonly score?: number;
  readonly scoreLower?: number;
}

export interface TopAnswer extends WindowFacts {
  readonly by: RankedBy;
  readonly items: readonly TopRow[];
  readonly k: number;
  readonly offset: number;
  readonly returned: number;
  /** So many first rows of the ranking are certainly those on top. */
  readonly certainRanks: number;
  /** Exact sum of all counts in the window. */
  readonly total: number;
  readonly exact: boolean;
  readonly errorBound: number;
  /** No item that is not listed has a larger measure. */
  readonly maxUnlisted: number;
  readonly saturated?: boolean;
  readonly halfLifeSeconds?: number;
  /** By actors: relative, the largest of the rows. */
  readonly standardError?: number;
  readonly previous?: PreviousWindow;
}

export interface TrendingRow extends CountBounds, Movement {
  readonly rank: number;
  readonly item: string;
  /** What the earlier windows let expect now. */
  readonly expected: number;
  /** `lower` divided by `expected`; null where nothing was expected. */
  readonly lift: number | null;
  /** Standard deviations above what is usual. */
  readonly score: number;
  /** The earlier windows; `count` times `scale` is to be compared with now. */
  readonly days: readonly (CountBounds & {
    readonly from: string;
    readonly to: string;
    readonly scale: number;
  })[];
}

export interface TrendingAnswer extends WindowFacts {
  readonly by: RankedBy;
  readonly items: readonly TrendingRow[];
  readonly k: number;
  readonly returned: number;
  readonly trendingCount: number;
  readonly total: number;
  readonly exact: boolean;
  readonly baseline: {
    readonly kind: 'days' | 'windows';
    readonly used: number;
    readonly of: number;
    readonly tz: string;
  };
  readonly minSupport: number;
  readonly threshold: number;
  readonly previous?: PreviousWindow;
}

/** A number of different actors. */
export interface DistinctBounds {
  readonly estimate: number;
  /** At 95 %. */
  readonly lower: number;
  readonly upper: number;
  /** Relative; 0 when exact. */
  readonly standardError: number;
  readonly exact: boolean;
}

export interface DistinctAnswer extends WindowFacts, DistinctBounds {
  readonly total: number;
  /** Sum of the counts of events without an actor: they are left out. */
  readonly withoutActor: number;
}

export interface DistinctByAnswer extends WindowFacts {
  /** The dimension. */
  readonly by: string;
  /** Of the whole stream. */
  readonly union: DistinctBounds;
  readonly parts: readonly (DistinctBounds & { readonly value: string; readonly total: number })[];
  readonly sumOfParts: number;
  /** Why `sumOfParts` and `union` differ. */
  readonly reason: string;
  readonly total: number;
  readonly withoutActor: number;
  /** Sum of the counts of events that do not name the dimension. */
  readonly withoutDimension: number;
}

export interface ItemDistinctAnswer extends WindowFacts, DistinctBounds {
  readonly item: string;
  /** How often the item occurred; never fewer than its actors. */
  readonly events: CountBounds;
  /** Moderation hides it: its numbers are 0. */
  readonly blocked?: boolean;
}

export type SetOperation = 'union' | 'intersection' | 'difference';

export interface SetAnswer extends SpanFacts {
  readonly op: SetOperation;
  readonly where?: string;
  readonly streams: readonly (DistinctBounds & {
    readonly stream: string;
    readonly from: string;
    readonly to: string;
    readonly total: number;
  })[];
  /** Null when the error is as large as the answer: `conclusive` is false then. */
  readonly estimate: number | null;
  readonly lower: number;
  readonly upper: number;
  readonly standardError: number | null;
  readonly exact: boolean;
  readonly conclusive: boolean;
}

export interface ItemCount extends CountBounds {
  readonly item: string;
  /** The upper bound says nothing: the item need not have occurred at all. */
  readonly belowNoiseFloor?: boolean;
  /** Moderation hides it: its numbers are 0. */
  readonly blocked?: boolean;
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
  readonly distinct?: DistinctBounds;
}

export interface SeriesAnswer extends WindowFacts {
  readonly item?: string;
  readonly blocked?: boolean;
  /** As asked for: `1h`. */
  readonly step: string;
  /** Where all steps are of the same length. */
  readonly stepSeconds?: number;
  readonly tz: string;
  readonly points: readonly SeriesPoint[];
}

/** The answer to one of several questions, by its type. */
export type QueryResult =
  | { readonly type: 'top'; readonly answer: TopAnswer }
  | { readonly type: 'trending'; readonly answer: TrendingAnswer }
  | {
      readonly type: 'distinct';
      readonly answer: DistinctAnswer | DistinctByAnswer | ItemDistinctAnswer;
    }
  | { readonly type: 'items'; readonly answer: ItemCountsAnswer }
  | { readonly type: 'series'; readonly answer: SeriesAnswer };

export type ModerationMode = 'open' | 'review' | 'allowlist';

/** What is left out takes the server's default. Durations are `25h`, `32d`. */
export interface StreamSettingsInput {
  readonly dimensions?: readonly {
    readonly name: string;
    /** The only values by themselves; null: those that come first. */
    readonly values?: readonly string[] | null;
    readonly maxValues?: number;
  }[];
  readonly retention?: {
    readonly minute?: string;
    readonly hour?: string;
    readonly day?: string;
  };
  readonly epsilon?: number;
  readonly delta?: number;
  readonly kMax?: number;
  readonly candidates?: number;
  readonly viewerBytes?: number;
  readonly mode?: ModerationMode;
}

/** The settings that hold, defaults included. */
export interface StreamSettings {
  readonly dimensions: readonly {
    readonly name: string;
    readonly values: readonly string[] | null;
    readonly maxValues: number;
  }[];
  readonly retention: { readonly minute: string; readonly hour: string; readonly day: string };
  readonly epsilon: number;
  readonly delta: number;
  readonly kMax: number;
  readonly candidates: number;
  readonly viewerBytes: number;
  readonly mode: ModerationMode;
}

export interface StreamInfo {
  readonly stream: string;
  /** Changes when the stream is deleted, and only then. */
  readonly generation: string;
  readonly settings: StreamSettings;
  readonly dimensions: readonly {
    readonly name: string;
    /** Its segments have all their events from here on; null: always. */
    readonly since: string | null;
    /** Those that have a segment; `other` stands for the rest. */
    readonly values: readonly string[];
  }[];
}

export interface StreamList {
  readonly streams: readonly { readonly stream: string }[];
  /** Pass as `after` for the next page; null at the end. */
  readonly next: string | null;
  readonly partial?: boolean;
  readonly missing?: readonly string[];
}

export interface ItemList {
  readonly items: readonly string[];
  readonly prefixes: readonly string[];
}

export interface ModerationLists {
  readonly stream: string;
  readonly mode: ModerationMode;
  readonly blocked: ItemList;
  readonly allowed: ItemList;
}

/** How much the lists hold now. */
export interface ModerationSizes {
  readonly stream: string;
  readonly mode: ModerationMode;
  readonly blocked: { readonly items: number; readonly prefixes: number };
  readonly allowed: { readonly items: number; readonly prefixes: number };
}

export type ModerationAction = 'block' | 'unblock' | 'allow' | 'disallow';

/** Of one item, or of all items with a prefix. */
export type ModerationChange = { readonly action: ModerationAction } & (
  | { readonly item: string }
  | { readonly prefix: string }
);

export interface AuditEntry {
  readonly at: string;
  readonly by: string;
  readonly action: ModerationAction | 'import';
  readonly item?: string;
  readonly prefix?: string;
  readonly reason?: string;
}

export interface ModerationAudit {
  readonly stream: string;
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
}

export interface ModerationQueueAnswer extends WindowFacts {
  readonly k: number;
  readonly returned: number;
  readonly items: readonly (CountBounds & { readonly item: string })[];
}
