/** What boards take and answer, as docs/api.md describes it. */

export interface ScoreIncrement {
  readonly member: string;
  /** In mode increment. */
  readonly by?: number;
  /** In modes best and last. */
  readonly score?: number;
  /** Makes a retry of this increment harmless for an hour. */
  readonly id?: string;
}

export interface ScoresAnswer {
  readonly board: string;
  readonly shards: number;
  readonly results: readonly {
    readonly member: string;
    readonly score: number | null;
    readonly rank?: number | null;
    readonly duplicate?: true;
    readonly code?: 'out_of_range';
  }[];
}

interface BoardFrame {
  readonly board: string;
  readonly view: string;
  readonly season: string;
  readonly endsAt: string | null;
  readonly asOf: string;
  readonly of: number;
  readonly shards: number;
  readonly partial?: true;
  readonly missing?: readonly string[];
}

export interface BoardRow {
  readonly rank: number;
  readonly member: string;
  readonly score: number;
  readonly meta?: unknown;
  readonly self?: true;
}

export interface BoardPage extends BoardFrame {
  readonly entries: readonly BoardRow[];
  readonly next?: string;
  readonly previous?: string;
  readonly stale?: true;
}

export interface BoardMember extends BoardFrame {
  readonly member: string;
  readonly score: number;
  readonly rank: number | null;
  readonly percentile: number | null;
  readonly hidden?: true;
  readonly meta?: unknown;
}

export interface BoardRanks extends BoardFrame {
  readonly members: readonly {
    readonly member: string;
    readonly score: number | null;
    readonly rank: number | null;
    readonly place: number | null;
    readonly meta?: unknown;
  }[];
}

export interface BoardStats extends BoardFrame {
  /** Exact, as a decimal text. */
  readonly sum: string;
  readonly min: number | null;
  readonly max: number | null;
  readonly histogram: readonly {
    readonly from: number;
    readonly to: number;
    readonly count: number;
  }[];
}

export interface BoardSettings {
  readonly mode?: 'increment' | 'best' | 'last';
  readonly order?: 'descending' | 'ascending';
  readonly ties?: 'earliest' | 'competition' | 'dense';
  readonly decimals?: number;
  /** `hourly`, `daily`, `weekly`, `monthly`, or by cron. */
  readonly views?: readonly (string | { readonly name: string; readonly cron: string })[];
  readonly tz?: string;
  readonly keepSeasons?: number;
  readonly autoSplit?: boolean;
}

export interface BoardInfo {
  readonly board: string;
  readonly settings: Required<BoardSettings>;
  readonly createdAt: string;
  readonly shards: number;
  readonly movingTo?: number;
  readonly seasons: readonly {
    readonly view: string;
    readonly season: string;
    readonly startsAt: string | null;
    readonly endsAt: string | null;
    readonly current?: true;
  }[];
}

export interface BoardList {
  readonly boards: readonly { readonly board: string; readonly shards: number }[];
  readonly next?: string;
}
