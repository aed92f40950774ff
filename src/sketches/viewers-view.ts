/*
 * What      One answer about items' different actors from many summaries (minutes, hours,
 *           partitions): how many one item had, or which items had most.
 * Paper     Sets of actors unite (viewer-set.ts). The search for the items with most begins with a
 *           least number, below which no summary needs to be looked at: Cao, Wang, 2004, "Efficient
 *           top-K query calculation in distributed networks"; and it ends where the sum of an
 *           item's sets is less than what was found: Fagin, Lotem, Naor, 2001, "Optimal aggregation
 *           algorithms for middleware" (the threshold algorithm).
 * Params    Summaries of disjoint events under one hash key, read with their viewers.
 * Guarantee An item's bounds as viewer-union.ts says: always, as far as actors were counted; in 95
 *           of 100 cases where registers estimate them. Never above the upper bound of the item's
 *           events. No item outside of the rows has more actors than `maxUnlisted`: always, as far
 *           as no registers are in it; else as the upper bounds of items hold.
 * Memory    A number for each item that may be among those with most, and one union at a time.
 * Cost      viewersOf: one look into each summary. topByViewers: a pass over the listed numbers,
 *           and viewersOf for each item whose sum reaches the least of the rows.
 * Merge     A view of two lists of summaries is the view of both lists together.
 * Not       It keeps no copy: summaries must not change while they are viewed.
 */
import { nthLargest } from '../lib/nth-largest.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { KeyedHash } from './hash.ts';
import { ItemKey } from './item-key.ts';
import type { Summary } from './summary.ts';
import { type ViewersOfItem, ViewerUnion } from './viewer-union.ts';

/** The search begins with so many times as many items of each summary. */
const HEAD_FACTOR = 2;
/** Keeps sums of shares at or below their whole whatever floating point rounds. */
const ROUNDING_SLACK = 1 - 1e-9;

export interface ViewersRow extends ViewersOfItem {
  readonly item: string;
  /** The item's events, at most. */
  readonly events: number;
}

export interface TopByViewers {
  /** By their estimates, largest first, then by the items' UTF-8 bytes. */
  readonly rows: readonly ViewersRow[];
  readonly maxUnlisted: number;
}

/** An item with what its sets can sum up to. */
interface Contender {
  readonly item: string;
  bound: number;
}

export class ViewersView {
  readonly #summaries: readonly Summary[];
  readonly #hash: KeyedHash;

  constructor(summaries: readonly Summary[], hash: KeyedHash) {
    this.#summaries = summaries;
    this.#hash = hash;
  }

  viewersOf(item: string): ViewersOfItem {
    const { estimate, lower, upper, standardError, exact } = this.#rowOf(item);
    return { estimate, lower, upper, standardError, exact };
  }

  /** The k items with most different actors; k >= 1. Hidden ones are as if there were none. */
  topByViewers(k: number, isHidden: (item: string) => boolean = () => false): TopByViewers {
    const rows = this.#heads(k + 1, isHidden).map(({ item }) => this.#rowOf(item));
    rows.sort(compareRows);
    const heads = new Set(rows.map(({ item }) => item));
    const leastOfRows = (): number => rows[k]?.estimate ?? 0;
    let leftOut = 0;
    for (const { item, bound } of this.#contenders(leastOfRows(), isHidden)) {
      if (bound < leastOfRows()) {
        // In that order neither this one nor any that follows can have more than the rows.
        leftOut = Math.max(leftOut, bound);
        break;
      }
      if (heads.has(item)) continue;
      insert(rows, this.#rowOf(item));
      if (rows.length > k + 1) leftOut = Math.max(leftOut, rows.pop()!.upper);
    }
    return {
      rows: rows.slice(0, k),
      maxUnlisted: Math.ceil(Math.max(this.#cutSum, leftOut, rows[k]?.upper ?? 0)),
    };
  }

  get #cutSum(): number {
    return this.#summaries.reduce((sum, { viewers }) => sum + viewers.cut, 0);
  }

  #rowOf(item: string): ViewersRow {
    const key = new ItemKey(item, this.#hash);
    const union = new ViewerUnion();
    let events = 0;
    for (const summary of this.#summaries) {
      const { upper } = summary.boundsOf(key);
      if (upper === 0) continue;
      events += upper;
      summary.viewers.gather(key, upper, union);
    }
    events = Math.min(events, Number.MAX_SAFE_INTEGER);
    return { item, events, ...union.result(events) };
  }

  /** Those of which the first items of the summaries sum up to most. */
  #heads(count: number, isHidden: (item: string) => boolean): Contender[] {
    const heads = new Map<string, Contender>();
    for (const { viewers } of this.#summaries) {
      const uppers = viewers.uppers();
      const size = HEAD_FACTOR * count;
      // Only items above the first left out: of many equal numbers none stands out.
      const least = uppers.length > size ? nthLargest(uppers, size + 1) + 1 : 0;
      viewers.forEachUpper((item, upper) => {
        if (isHidden(item)) return;
        const head = heads.get(item);
        if (head === undefined) heads.set(item, { item, bound: upper });
        else head.bound += upper;
      }, least);
    }
    return [...heads.values()].sort(compareContenders).slice(0, count);
  }

  /**
   * Every item that can have more actors than `found`, by how many it can have. An item of which
   * that is so reaches its share of `found` in some summary, however the shares are chosen: here
   * the cut-off, so that the summary lists whatever reaches it, and a part of what remains in
   * proportion to the summary's events. Where it does not reach it, it has less than the share.
   */
  #contenders(found: number, isHidden: (item: string) => boolean): Contender[] {
    const events = this.#summaries.map(({ total, withoutActor }) => total - withoutActor);
    const whole = events.reduce((sum, each) => sum + each, 0);
    const spare = Math.max(0, found - this.#cutSum) * ROUNDING_SLACK;
    const shares = this.#summaries.map(
      ({ viewers }, index) => viewers.cut + (spare === 0 ? 0 : (spare * events[index]!) / whole),
    );
    const shareSum = shares.reduce((sum, share) => sum + share, 0);
    const contenders = new Map<string, Contender>();
    for (const [index, { viewers }] of this.#summaries.entries()) {
      const share = shares[index]!;
      viewers.forEachUpper(
        (item, upper) => {
          const contender = contenders.get(item);
          if (contender !== undefined) contender.bound += upper - share;
          else if (!isHidden(item)) contenders.set(item, { item, bound: shareSum + upper - share });
        },
        spare === 0 ? 0 : share,
      );
    }
    return [...contenders.values()].sort(compareContenders);
  }
}

function compareContenders(a: Contender, b: Contender): number {
  return b.bound - a.bound || compareUtf8(a.item, b.item);
}

function compareRows(a: ViewersRow, b: ViewersRow): number {
  return b.estimate - a.estimate || compareUtf8(a.item, b.item);
}

/** Into rows that are in order. */
function insert(rows: ViewersRow[], row: ViewersRow): void {
  let place = rows.length;
  while (place > 0 && compareRows(rows[place - 1]!, row) > 0) place -= 1;
  rows.splice(place, 0, row);
}
