import type { SummaryView } from '../../sketches/summary-view.ts';
import type { TopAnswer, TopRow } from '../answers.ts';
import { PREVIOUS_RANKS_MAX } from '../limits.ts';
import type { BucketSummary } from '../reader.ts';
import { coverDecaying, decayWeights } from './decay.ts';
import { comparedWindow, movementSince } from './movement.ts';
import {
  type Asking,
  boundsOf,
  checkK,
  factsOf,
  type Plan,
  type PlannedWindow,
  type PlanRead,
  planBefore,
  planWindow,
  readOf,
  shownView,
} from './plan.ts';
import { QuestionError, type TopQuestion } from './question.ts';
import { certainRanksOf, type RankedRow, type Ranking, rankingOf } from './ranking.ts';

interface PlannedTop {
  readonly question: TopQuestion;
  readonly asking: Asking;
  readonly window: PlannedWindow;
  /** The window before; null without movement. */
  readonly before: PlannedWindow | null;
}

/** Throws WindowError and QuestionError. */
export function planTop(question: TopQuestion, asking: Asking): Plan<TopAnswer> {
  const { k, by = 'events', halfLifeMs = null, movement = false } = question;
  checkK(k, asking.profile);
  if (by === 'actors' && halfLifeMs !== null) {
    const message = 'decay: events can be weighted, different actors cannot';
    throw new QuestionError('invalid_parameter', 'decay', message);
  }
  const planned = planWindow(question, asking);
  const window = narrowed(planned, halfLifeMs, asking);
  const before = movement ? narrowed(planBefore(planned, asking), halfLifeMs, asking) : null;
  const windows = before === null ? [window] : [window, before];
  return {
    reads: windows.map((each) => readOf(each, by === 'actors')),
    answer: (read) => answerTop({ question, asking, window, before }, read),
  };
}

/** With decay, read by buckets that are narrow where events count. */
function narrowed(
  window: PlannedWindow,
  halfLifeMs: number | null,
  { nowMs, profile }: Asking,
): PlannedWindow {
  if (halfLifeMs === null) return window;
  const { retention } = profile.settings;
  return { ...window, covered: coverDecaying(window.span, nowMs, retention, halfLifeMs) };
}

function answerTop(planned: PlannedTop, read: PlanRead): TopAnswer {
  const { question, asking, window } = planned;
  const { k, offset = 0, by = 'events', halfLifeMs = null } = question;
  const [summaries = []] = read.summaries;
  const events = shownView(summaries, asking);
  const ranking = rankWindow(planned, window, summaries, offset + k);
  const rows = ranking.rows.slice(offset).map((row, index) => ({
    rank: offset + index + 1,
    item: row.item,
    ...measureOf(row, question, events),
  }));
  return {
    ...factsOf(window, read),
    by,
    ...withMovement(rows, planned, read),
    k,
    offset,
    certainRanks: certainRanksOf(ranking),
    total: events.total,
    exact: ranking.exact,
    errorBound: events.errorBound,
    maxUnlisted: ranking.maxUnlisted,
    saturated: events.saturated,
    halfLifeMs,
    ...(by === 'actors' ? { standardError: ranking.standardError } : {}),
  };
}

function rankWindow(
  { question, asking }: PlannedTop,
  { span }: PlannedWindow,
  summaries: readonly BucketSummary[],
  n: number,
): Ranking {
  const { by = 'events', halfLifeMs = null } = question;
  const weights = halfLifeMs === null ? undefined : decayWeights(summaries, span.toMs, halfLifeMs);
  return rankingOf(summaries, asking, n, { by, weights });
}

function measureOf(
  row: RankedRow,
  { halfLifeMs = null }: TopQuestion,
  events: SummaryView,
): Omit<TopRow, 'rank' | 'item'> {
  const { item, ...measure } = row;
  if (halfLifeMs === null) return measure;
  return { ...boundsOf(events.countOf(item)), score: row.upper, scoreLower: row.lower };
}

function withMovement(
  rows: readonly TopRow[],
  planned: PlannedTop,
  read: PlanRead,
): Pick<TopAnswer, 'items' | 'previous'> {
  const { asking, before } = planned;
  if (before === null) return { items: rows };
  const summaries = read.summaries[1] ?? [];
  const previous = comparedWindow(before, read);
  const ranking = rankWindow(planned, before, summaries, PREVIOUS_RANKS_MAX);
  const movementOf = movementSince(ranking.rows, shownView(summaries, asking), previous);
  return { items: rows.map((row) => ({ ...row, ...movementOf(row.item) })), previous };
}
