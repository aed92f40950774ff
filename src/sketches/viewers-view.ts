/*
 * What      How many different actors an item had, and which items had most, from many summaries
 *           (minutes, hours, partitions): the sets of an item unite, whatever the summary.
 * Paper     The search goes down by a bound of each item and stops when no other can be on top any
 *           more: the threshold algorithm of Fagin, Lotem, Naor, 2001, "Optimal aggregation
 *           algorithms for middleware". Sets and cut-offs as in viewer-sketch.ts.
 * Params    Summaries of disjoint events under one hash key, read with their viewers.
 * Guarantee While `exact`: the number of different actors. Else estimates with bounds at 95 %, to
 *           which is added, always, what summaries may hold that do not list the item (at most
 *           their cut-off, and at most the item's events in them). Never above the item's events.
 * Memory    A number for each item that any summary lists.
 * Cost      viewersOf: O(summaries + the item's hashes and registers). topByViewers: a pass over
 *           all listed items, then viewersOf for few more than the rows asked for.
 * Merge     A view of two lists of summaries is the view of both lists together.
 * Not       It keeps nothing.
 */
import { compareUtf8 } from '../lib/utf8.ts';
import type { KeyedHash } from './hash.ts';
import { ItemKey } from './item-key.ts';
import { PairTable } from './pair-table.ts';
import type { Summary } from './summary.ts';
import { ViewerSet } from './viewer-set.ts';
import { upperOf } from './viewer-sketch.ts';

/** Two-sided 95 % of a normal distribution, which the estimator's error follows closely. */
const Z_95 = 1.96;

export interface ViewersOfItem {
  readonly estimate: number;
  readonly lower: number;
  readonly upper: number;
  /** Relative; 0 while the item's actors are all known. */
  readonly standardError: number;
  readonly exact: boolean;
  /** At most so many events named the item. */
  readonly events: number;
}

export interface ViewersRow extends ViewersOfItem {
  readonly item: string;
}

export interface TopByViewers {
  /** By estimate descending, then by the items' bytes. */
  readonly rows: readonly ViewersRow[];
  /** No other item has more different actors, as far as upper bounds hold. */
  readonly maxUnlisted: number;
}

export function viewersOf(
  summaries: readonly Summary[],
  item: string,
  hash: KeyedHash,
): ViewersOfItem {
  const key = new ItemKey(item, hash);
  const union = new ViewerSet();
  let missed = 0;
  let events = 0;
  for (const summary of summaries) {
    const { upper } = summary.boundsOf(key);
    if (upper === 0) continue;
    events += upper;
    missed += Math.min(uniteInto(union, summary, key), upper);
  }
  const most = (value: number): number => Math.min(Math.round(value), events);
  const size = union.estimate();
  const margin = union.isExact ? 0 : Z_95 * ViewerSet.standardError * size;
  return {
    estimate: most(size),
    lower: most(Math.max(size - margin, 0)),
    upper: most(size + margin + missed),
    standardError: union.isExact ? 0 : ViewerSet.standardError,
    exact: union.isExact && missed === 0,
    events,
  };
}

/** The k items with most different actors; k >= 1. */
export function topByViewers(
  summaries: readonly Summary[],
  hash: KeyedHash,
  k: number,
  isHidden: (item: string) => boolean,
): TopByViewers {
  const cuts = summaries.reduce((sum, { viewers }) => sum + cutOf(viewers), 0);
  const bounds = [...boundsOf(summaries)].filter(([item]) => !isHidden(item));
  bounds.sort(([a, aBound], [b, bBound]) => bBound - aBound || compareUtf8(a, b));
  const rows: ViewersRow[] = [];
  let next = 0;
  for (; next < bounds.length; next += 1) {
    const [item, bound] = bounds[next]!;
    if (next >= k && next % k === 0) rows.sort(compareRows);
    if (next >= k && next % k === 0 && rows[k - 1]!.estimate > bound + cuts) break;
    rows.push({ item, ...viewersOf(summaries, item, hash) });
  }
  rows.sort(compareRows);
  const others = rows.slice(k).map(({ upper }) => upper);
  const unseen = bounds[next]?.[1] ?? 0;
  return {
    rows: rows.slice(0, k),
    maxUnlisted: Math.max(cuts, unseen === 0 ? 0 : unseen + cuts, ...others),
  };
}

function compareRows(a: ViewersRow, b: ViewersRow): number {
  return b.estimate - a.estimate || compareUtf8(a.item, b.item);
}

/** Adds the item's actors, and returns how many more it may have had in this summary. */
function uniteInto(union: ViewerSet, { viewers }: Summary, key: ItemKey): number {
  if (viewers instanceof PairTable) {
    viewers.visit(key, (_, words, start, end) => union.addWords(words, start, end));
    return 0;
  }
  const entry = viewers.get(key);
  if (entry === undefined) return viewers.cut;
  union.merge(entry.set);
  return entry.missed;
}

/** For each item that is listed: the sum of its upper bounds where it is. */
function boundsOf(summaries: readonly Summary[]): Map<string, number> {
  const bounds = new Map<string, number>();
  const add = (item: string, upper: number): void => {
    bounds.set(item, (bounds.get(item) ?? 0) + upper);
  };
  for (const { viewers } of summaries) {
    if (viewers instanceof PairTable) {
      viewers.forEach((item, _, start, end) => {
        if (end > start) add(item, (end - start) / 2);
      });
    } else {
      for (const [item, entry] of viewers.entries) add(item, upperOf(entry));
    }
  }
  return bounds;
}

function cutOf(viewers: Summary['viewers']): number {
  return viewers instanceof PairTable ? 0 : viewers.cut;
}
