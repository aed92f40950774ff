import type { ItemCount, ItemsAnswer } from '../answers.ts';
import {
  type Asking,
  boundsOf,
  factsOf,
  NO_COUNT,
  type Plan,
  planWindow,
  readOf,
  wholeView,
} from './plan.ts';
import type { ItemsQuestion } from './question.ts';

export function planItems(question: ItemsQuestion, asking: Asking): Plan<ItemsAnswer> {
  const window = planWindow(question, asking);
  return {
    reads: [readOf(window)],
    answer: (read) => {
      const view = wholeView(read.summaries[0], asking);
      const { total, itemsExact: exact, errorBound, saturated } = view;
      const countOf = (item: string): ItemCount => {
        if (asking.profile.isHidden(item)) {
          return { item, ...NO_COUNT, belowNoiseFloor: false, blocked: true };
        }
        const bounds = boundsOf(view.countOf(item));
        const belowNoiseFloor = bounds.lower === 0 && bounds.upper > 0;
        return { item, ...bounds, belowNoiseFloor, blocked: false };
      };
      return {
        ...factsOf(window, read),
        items: question.items.map(countOf),
        total,
        exact,
        errorBound,
        saturated,
      };
    },
  };
}
