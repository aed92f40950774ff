import type { CountBounds, RankedBy } from '../answers.ts';
import type { BucketSummary } from '../reader.ts';
import { type Asking, boundsOf, shownView, viewersView } from './plan.ts';

/** A row of a ranking: its measure is a number of events or of actors, or a weighted sum. */
export interface RankedRow extends CountBounds {
  readonly item: string;
  /** By actors: at most so many events named the item. */
  readonly events?: number;
}

export interface Ranking {
  readonly rows: readonly RankedRow[];
  /** No shown item beyond the rows has a larger measure. */
  readonly maxUnlisted: number;
  /** Whether all measures are exact, also of items beyond the rows. */
  readonly exact: boolean;
  /** Relative, the largest of the rows; 0 when all are exact. */
  readonly standardError: number;
}

/** The first n shown rows; `weights` of the summaries go with events only. */
export function rankingOf(
  summaries: readonly BucketSummary[],
  asking: Asking,
  n: number,
  { by, weights }: { readonly by: RankedBy; readonly weights?: readonly number[] | undefined },
): Ranking {
  if (by === 'actors') return rankingByActors(summaries, asking, n);
  const view = shownView(summaries, asking, weights);
  const { rows, maxUnlisted } = view.top(n);
  return {
    rows: rows.map((row) => ({ item: row.item, ...boundsOf(row) })),
    maxUnlisted,
    exact: view.itemsExact,
    standardError: 0,
  };
}

function rankingByActors(summaries: readonly BucketSummary[], asking: Asking, n: number): Ranking {
  const { profile } = asking;
  const isComplete = summaries.every(({ summary }) => summary.viewers.cut === 0);
  const view = viewersView(summaries, asking);
  const { rows, maxUnlisted } = view.topByViewers(n, (item) => profile.isHidden(item));
  return {
    rows: rows.map(({ item, estimate, lower, upper, events }) => {
      return { item, count: estimate, lower, upper, events };
    }),
    maxUnlisted,
    exact: isComplete && rows.every(({ exact }) => exact),
    standardError: Math.max(0, ...rows.map(({ standardError }) => standardError)),
  };
}

/**
 * So many first rows are certainly those on top, in whatever order: each of them has at least as
 * much as any item that is not one of them can have.
 */
export function certainRanksOf({ rows, maxUnlisted }: Ranking): number {
  /** What an item from this row on, or beyond the rows, can have at most. */
  const mostFrom = new Float64Array(rows.length + 1).fill(maxUnlisted);
  for (let index = rows.length - 1; index >= 0; index -= 1) {
    mostFrom[index] = Math.max(rows[index]!.upper, mostFrom[index + 1]!);
  }
  let certain = 0;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, { lower }] of rows.entries()) {
    least = Math.min(least, lower);
    if (least >= mostFrom[index + 1]!) certain = index + 1;
  }
  return certain;
}
