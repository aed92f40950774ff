import type { SummaryView } from '../../sketches/summary-view.ts';
import type { TopAnswer, TopRow } from '../answers.ts';
import { PREVIOUS_RANKS_MAX } from '../limits.ts';
import { decayWeights } from './decay.ts';
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
import { certainRanksOf, type RankedRow, rankingOf } from './ranking.ts';

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
  const window = planWindow(question, asking);
  const before = movement ? planBefore(window, asking) : null;
  const windows = before === null ? [window] : [window, before];
  return {
    reads: windows.map((each) => readOf(each, by === 'actors')),
    answer: (read) => answerTop({ question, asking, window, before }, read),
  };
}

function answerTop(planned: PlannedTop, read: PlanRead): TopAnswer {
  const { question, asking, window } = planned;
  const { k, offset = 0, by = 'events', halfLifeMs = null } = question;
  const events = shownView(read.summaries[0], asking);
  const ranking = rankingOf(rankedView(planned, read, 0), by, offset + k);
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
    exact: by === 'actors' ? ranking.exact : events.itemsExact,
    errorBound: events.errorBound,
    maxUnlisted: ranking.maxUnlisted,
    saturated: events.saturated,
    halfLifeMs,
    ...(by === 'actors' ? { standardError: ranking.standardError } : {}),
  };
}

/** The window's items as they are to be ranked. */
function rankedView(planned: PlannedTop, read: PlanRead, index: 0 | 1): SummaryView {
  const { question, asking, window, before } = planned;
  const { halfLifeMs = null } = question;
  const { span } = index === 0 || before === null ? window : before;
  const summaries = read.summaries[index] ?? [];
  if (halfLifeMs === null) return shownView(summaries, asking);
  return shownView(summaries, asking, decayWeights(summaries, span.toMs, halfLifeMs));
}

function measureOf(
  row: RankedRow,
  { by = 'events', halfLifeMs = null }: TopQuestion,
  events: SummaryView,
): Omit<TopRow, 'rank' | 'item'> {
  const { item, count, lower, upper } = row;
  if (halfLifeMs !== null) {
    return { ...boundsOf(events.countOf(item)), score: upper, scoreLower: lower };
  }
  if (by === 'events') return { count, lower, upper };
  return { count, lower, upper, events: events.countOf(item).upper };
}

function withMovement(
  rows: readonly TopRow[],
  planned: PlannedTop,
  read: PlanRead,
): Pick<TopAnswer, 'items' | 'previous'> {
  const { question, asking, before } = planned;
  if (before === null) return { items: rows };
  const previous = comparedWindow(before, read);
  const { rows: ranked } = rankingOf(
    rankedView(planned, read, 1),
    question.by ?? 'events',
    PREVIOUS_RANKS_MAX,
  );
  const movementOf = movementSince(ranked, shownView(read.summaries[1], asking), previous);
  return { items: rows.map((row) => ({ ...row, ...movementOf(row.item) })), previous };
}
