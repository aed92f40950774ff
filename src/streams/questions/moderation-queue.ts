import { SummaryView } from '../../sketches/summary-view.ts';
import type { ModerationQueueAnswer } from '../answers.ts';
import { matcherOf } from '../moderation.ts';
import { type Asking, boundsOf, checkK, factsOf, type Plan, planWindow, readOf } from './plan.ts';
import type { ModerationQueueQuestion } from './question.ts';

/** In mode `review`, the top of what nobody has decided on; nothing waits in other modes. */
export function planModerationQueue(
  question: ModerationQueueQuestion,
  asking: Asking,
): Plan<ModerationQueueAnswer> {
  const { k } = question;
  const { hash, profile } = asking;
  checkK(k, profile);
  const window = planWindow(question, asking);
  const isAllowed = matcherOf(profile.moderation.allowed);
  const isDecided = (item: string): boolean => profile.isBlocked(item) || isAllowed(item);
  return {
    reads: [readOf(window)],
    answer: (read) => {
      const summaries = (read.summaries[0] ?? []).map(({ summary }) => summary);
      const view = new SummaryView(summaries, hash, { isHidden: isDecided });
      const rows = profile.settings.mode === 'review' ? view.top(k).rows : [];
      const items = rows.map((row) => ({ item: row.item, ...boundsOf(row) }));
      return { ...factsOf(window, read), items, k };
    },
  };
}
