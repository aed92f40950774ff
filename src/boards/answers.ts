/**
 * What the boards room answers. Scores are in the board's own unit (decimals are put back), ranks
 * begin with 1, times are epoch ms.
 */

/** Beside every answer about a season of a board. */
export interface BoardFrame {
  readonly board: string;
  readonly view: string;
  /** Id of the season. */
  readonly season: string;
  readonly endsAtMs: number | null;
  /** When the parts were read; the oldest of them. */
  readonly asOfMs: number;
  /** Members that are shown. */
  readonly of: number;
  /** Parts of the board. */
  readonly shards: number;
  /** Parts that could not be read: what they hold is in no row, rank or count. */
  readonly missing: readonly string[];
}

export interface BoardRow {
  readonly rank: number;
  readonly member: string;
  readonly score: number;
  /** JSON text; null: none. */
  readonly meta: string | null;
}

export interface PageAnswer extends BoardFrame {
  readonly entries: readonly BoardRow[];
  /** Cursors of the pages after and before this one; null where there is none. */
  readonly next: string | null;
  readonly previous: string | null;
}

export interface MemberAnswer extends BoardFrame {
  readonly member: string;
  readonly score: number;
  /** Null while the member is hidden. */
  readonly rank: number | null;
  /** Share of the members that rank strictly below, 0..100; null while the member is hidden. */
  readonly percentile: number | null;
  readonly isHidden: boolean;
  readonly meta: string | null;
}

export interface RankOfMember {
  readonly member: string;
  /** Null: no such member, or not in this season. Hidden ones have a score and no rank. */
  readonly score: number | null;
  readonly rank: number | null;
  /** Place among those asked for that have a rank. */
  readonly place: number | null;
  readonly meta: string | null;
}

export interface RanksAnswer extends BoardFrame {
  /** In the order asked for. */
  readonly members: readonly RankOfMember[];
}

export interface HistogramBucket {
  /** Inclusive. */
  readonly from: number;
  /** Exclusive, but for the last bucket. */
  readonly to: number;
  readonly count: number;
}

export interface StatsAnswer extends BoardFrame {
  /** As a decimal text: a sum may be larger than what a number holds exactly. */
  readonly sum: string;
  readonly min: number | null;
  readonly max: number | null;
  /** Lowest scores first. */
  readonly histogram: readonly HistogramBucket[];
}

export interface ScoreResult {
  readonly member: string;
  /** All-time, after the request; null: no such member (it was not made). */
  readonly score: number | null;
  /** Where ranks were asked for; null: hidden, or no such member. */
  readonly rank?: number | null;
  readonly isDuplicate: boolean;
  /** This entry alone was not applied: its result would leave the safe range. */
  readonly isOutOfRange: boolean;
}

export interface ScoresAnswer {
  readonly board: string;
  readonly shards: number;
  /** In the order sent. */
  readonly results: readonly ScoreResult[];
}
