import type { SummaryView } from '../../sketches/summary-view.ts';
import type { CountBounds, RankedBy } from '../answers.ts';
import { boundsOf } from './plan.ts';

/** A row of a ranking: its measure is a number of events or of actors, or a weighted sum. */
export interface RankedRow extends CountBounds {
  readonly item: string;
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

/** The first n rows of what is viewed. */
export function rankingOf(view: SummaryView, _by: RankedBy, n: number): Ranking {
  const { rows, maxUnlisted } = view.top(n);
  return {
    rows: rows.map((row) => ({ item: row.item, ...boundsOf(row) })),
    maxUnlisted,
    exact: view.itemsExact,
    standardError: 0,
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
