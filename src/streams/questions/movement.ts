import type { SummaryView } from '../../sketches/summary-view.ts';
import type { ComparedWindow, Movement } from '../answers.ts';
import type { PlannedWindow, PlanRead } from './plan.ts';

/** What is said of the window before, which rows are compared with. */
export function comparedWindow(window: PlannedWindow, read: PlanRead): ComparedWindow {
  const { span, covered, missing } = window;
  const { fromMs, toMs, buckets } = covered;
  const isKept = buckets.length > 0 && fromMs <= span.fromMs;
  return { fromMs, toMs, complete: isKept && missing.length + read.missing.length === 0 };
}

/**
 * How an item has moved since the window before: `previous` are the first rows of its ranking, and
 * `events` counts all that happened in it.
 */
export function movementSince(
  previous: readonly { readonly item: string }[],
  events: SummaryView,
  { complete }: ComparedWindow,
): (item: string) => Movement {
  const ranks = new Map(previous.map(({ item }, index) => [item, index + 1]));
  return (item) => ({
    previousRank: ranks.get(item) ?? null,
    // Of a time that is not kept, or could not be read, nothing is certain.
    isNew: complete && events.countOf(item).upper === 0,
  });
}
