import type { DistinctAnswer } from '../answers.ts';
import { type Asking, factsOf, type Plan, planWindow, readOf, wholeView } from './plan.ts';
import type { DistinctQuestion } from './question.ts';

/** Moderation hides items, not actors: all events of the window are counted. */
export function planDistinct(question: DistinctQuestion, asking: Asking): Plan<DistinctAnswer> {
  const window = planWindow(question, asking);
  return {
    reads: [readOf(window)],
    answer: (read) => {
      const view = wholeView(read.summaries[0], asking);
      const { total, withoutActor } = view;
      return { ...factsOf(window, read), ...view.distinct(), total, withoutActor };
    },
  };
}
