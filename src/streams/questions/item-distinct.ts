import type { ItemDistinctAnswer } from '../answers.ts';
import {
  type Asking,
  boundsOf,
  factsOf,
  NO_COUNT,
  type Plan,
  planWindow,
  readOf,
  viewersView,
  wholeView,
} from './plan.ts';
import type { ItemDistinctQuestion } from './question.ts';

const NOBODY = { estimate: 0, lower: 0, upper: 0, standardError: 0, exact: true };

export function planItemDistinct(
  question: ItemDistinctQuestion,
  asking: Asking,
): Plan<ItemDistinctAnswer> {
  const { item } = question;
  const window = planWindow(question, asking);
  return {
    reads: [readOf(window, true)],
    answer: (read) => {
      const facts = { ...factsOf(window, read), item };
      if (asking.profile.isHidden(item)) {
        return { ...facts, ...NOBODY, events: NO_COUNT, blocked: true };
      }
      const [summaries] = read.summaries;
      const events = boundsOf(wholeView(summaries, asking).countOf(item));
      const actors = viewersView(summaries, asking).viewersOf(item);
      return { ...facts, ...actors, events, blocked: false };
    },
  };
}
