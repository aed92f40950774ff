/** What a stream can be asked. What is left out or undefined takes the default that is named. */
import type {
  DistinctAnswer,
  DistinctByAnswer,
  ItemDistinctAnswer,
  ItemsAnswer,
  RankedBy,
  SeriesAnswer,
  SetOperation,
  TopAnswer,
  TrendingAnswer,
} from '../answers.ts';
import type { Segment } from '../shares.ts';
import type { WindowError, WindowRequest } from '../window.ts';

/** Part of every question. */
interface WindowQuestion {
  readonly window: WindowRequest;
  /** Only events of this segment. Default: the whole stream. */
  readonly where?: Segment | null | undefined;
  /** Default: false. */
  readonly explain?: boolean | undefined;
}

export interface StreamQuestion extends WindowQuestion {
  readonly stream: string;
}

/** The items with the largest counts. */
export interface TopQuestion extends StreamQuestion {
  /** 1..kMax of the stream. */
  readonly k: number;
  /** Rows left out before the first one shown; 0..TOP_OFFSET_MAX. Default: 0. */
  readonly offset?: number | undefined;
  /** Default: events. */
  readonly by?: RankedBy | undefined;
  /**
   * Ranks by a score in which an event counts 2^(-age / halfLifeMs), by events only. The age is
   * that of the middle of its bucket at the window's end, at least 0; see decay.ts for its error.
   * Default: null, no weighting.
   */
  readonly halfLifeMs?: number | null | undefined;
  /** Compares with the window of the same length right before. Default: false. */
  readonly movement?: boolean | undefined;
}

/** How many different actors. */
export type DistinctQuestion = StreamQuestion;

/** How many different actors, for each value of a dimension and altogether. */
export interface DistinctByQuestion extends Omit<StreamQuestion, 'where'> {
  readonly dimension: string;
}

/** How many different actors several streams have together. */
export interface SetQuestion extends WindowQuestion {
  /** 1..SET_STREAMS_MAX for a union, else exactly 2; all different. */
  readonly streams: readonly string[];
  readonly op: SetOperation;
}

/** The counts of some items. */
export interface ItemsQuestion extends StreamQuestion {
  readonly items: readonly string[];
}

/** How many different actors an item had. */
export interface ItemDistinctQuestion extends StreamQuestion {
  readonly item: string;
}

/** A point for each step: an item's counts, or the stream's total and its distinct actors. */
export interface SeriesQuestion extends StreamQuestion {
  /** `15m`, `1h`, `1d`, `1w`, `1mo`. */
  readonly step: string;
  /** IANA name of the zone by whose clock the steps begin. Default: UTC. */
  readonly zone?: string | undefined;
  /** Default: the stream as a whole. */
  readonly item?: string | undefined;
}

/** What is unusually frequent. */
export interface TrendingQuestion extends StreamQuestion {
  /** 1..kMax of the stream. */
  readonly k: number;
  /** Default: events. */
  readonly by?: RankedBy | undefined;
  /** 1..BASELINE_DAYS_MAX earlier days, or windows. Default: BASELINE_DAYS_DEFAULT. */
  readonly baselineDays?: number | undefined;
  /** Least lower bound of what trends; at least 1. Default: MIN_SUPPORT_DEFAULT. */
  readonly minSupport?: number | undefined;
  /** IANA name of the zone whose clock says which time is the same on another day. Default: UTC. */
  readonly zone?: string | undefined;
  /** Compares with the window of the same length right before. Default: false. */
  readonly movement?: boolean | undefined;
}

/** What waits for a decision of the moderators. */
export interface ModerationQueueQuestion extends StreamQuestion {
  readonly k: number;
}

/** What may be asked together with others. */
export type Question =
  | ({ readonly type: 'top' } & TopQuestion)
  | ({ readonly type: 'distinct' } & DistinctQuestion)
  | ({ readonly type: 'distinct_by' } & DistinctByQuestion)
  | ({ readonly type: 'items' } & ItemsQuestion)
  | ({ readonly type: 'item_distinct' } & ItemDistinctQuestion)
  | ({ readonly type: 'series' } & SeriesQuestion)
  | ({ readonly type: 'trending' } & TrendingQuestion);

/** The answer to a `Question` of the same type. */
export type QuestionAnswer =
  | { readonly type: 'top'; readonly answer: TopAnswer }
  | { readonly type: 'distinct'; readonly answer: DistinctAnswer }
  | { readonly type: 'distinct_by'; readonly answer: DistinctByAnswer }
  | { readonly type: 'items'; readonly answer: ItemsAnswer }
  | { readonly type: 'item_distinct'; readonly answer: ItemDistinctAnswer }
  | { readonly type: 'series'; readonly answer: SeriesAnswer }
  | { readonly type: 'trending'; readonly answer: TrendingAnswer };

/** A question that a stream cannot answer as it was put; `parameter` is the field at fault. */
export class QuestionError extends Error {
  override readonly name = 'QuestionError';
  readonly code: 'unknown_dimension' | 'invalid_parameter';
  readonly parameter: string;

  constructor(code: QuestionError['code'], parameter: string, message: string) {
    super(message);
    this.code = code;
    this.parameter = parameter;
  }
}

/** One of several questions was refused, and with it all of them. */
export class QuestionRefusedError extends Error {
  override readonly name = 'QuestionRefusedError';
  /** 0-based, where it stands among them. */
  readonly index: number;
  readonly reason: QuestionError | WindowError;

  constructor(index: number, reason: QuestionError | WindowError) {
    super(reason.message);
    this.index = index;
    this.reason = reason;
  }
}
