import type { SummaryView } from '../../sketches/summary-view.ts';
import type { SeriesAnswer, SeriesPoint } from '../answers.ts';
import { parseStep, seriesSpans } from '../series-spans.ts';
import {
  type Asking,
  boundsOf,
  factsOf,
  NO_COUNT,
  type Plan,
  type PlannedWindow,
  planSpan,
  readOf,
  wholeView,
} from './plan.ts';
import { QuestionError, type SeriesQuestion } from './question.ts';

/** A read for each point. Throws WindowError and QuestionError. */
export function planSeries(question: SeriesQuestion, asking: Asking): Plan<SeriesAnswer> {
  const { window, step, zone = 'UTC', item } = question;
  const { nowMs, profile } = asking;
  if (parseStep(step) === null) {
    const message = 'step: expected Nm, Nh, Nd, 1w or 1mo';
    throw new QuestionError('invalid_parameter', 'step', message);
  }
  const spans = seriesSpans(window, { step, zone }, nowMs, profile.settings.retention);
  const asked = { fromMs: spans[0]!.fromMs, toMs: spans.at(-1)!.toMs };
  const whole = planSpan(question, asked, asking);
  const points = spans
    .map((span) => planSpan(question, span, asking))
    // A time that no level keeps any more is cut off: its count is not known to be 0.
    .filter(({ covered }) => covered.buckets.length > 0);
  const blocked = item !== undefined && profile.isHidden(item);
  const pointOf = (
    { covered: { fromMs, toMs } }: PlannedWindow,
    view: SummaryView,
  ): SeriesPoint => {
    const span = { fromMs, toMs };
    if (blocked) return { ...span, exact: true, ...NO_COUNT };
    return { ...span, ...(item === undefined ? totalOf(view) : countOf(view, item)) };
  };
  return {
    // Without points there is still a moment of which that is so.
    reads: (points.length > 0 ? points : [whole]).map((each) => readOf(each)),
    answer: (read) => ({
      ...factsOf(whole, read),
      // Points are covered one by one: their edges can be wider than those of the whole.
      fromMs: points[0]?.covered.fromMs ?? asked.toMs,
      toMs: points.at(-1)?.covered.toMs ?? asked.toMs,
      widened: points.some(({ covered }) => covered.widened),
      ...(item === undefined ? {} : { item, blocked }),
      step,
      zone,
      points: points.map((point, at) => pointOf(point, wholeView(read.summaries[at], asking))),
    }),
  };
}

function countOf(view: SummaryView, item: string): Omit<SeriesPoint, 'fromMs' | 'toMs'> {
  return { exact: view.itemsExact, ...boundsOf(view.countOf(item)) };
}

function totalOf(view: SummaryView): Omit<SeriesPoint, 'fromMs' | 'toMs'> {
  const { total } = view;
  const count = boundsOf({ lower: total, upper: total });
  return { exact: true, ...count, distinct: view.distinct() };
}
