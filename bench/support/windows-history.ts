/** A long history of events, in the order of their times, and the exact answers to it. */
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { type CountedItem, type Events, generateEvents, itemName } from './load-events.ts';

/** So many events lie evenly between two ages, counted back from the history's end. */
export interface Era {
  readonly fromAgeMs: number;
  readonly toAgeMs: number;
  readonly eventCount: number;
}

export interface HistoryOptions {
  /** The oldest first, each beginning where the one before it ends. */
  readonly eras: readonly Era[];
  readonly itemCount: number;
  /** Of the Zipf distribution of the items. */
  readonly exponent: number;
  readonly actorCount: number;
  readonly seed: number;
}

interface Placed extends Era {
  readonly firstIndex: number;
}

export class History implements Events {
  readonly items: Uint32Array;
  readonly actors: Uint32Array;
  readonly itemCount: number;
  /** All events are earlier. */
  readonly untilMs: number;
  readonly #eras: readonly Placed[];

  /**
   * Items are drawn from the distribution, but for one event in as many as there are events for
   * each item: these name all items in turn, so that each of them occurs.
   */
  constructor({ eras, ...options }: HistoryOptions, untilMs: number) {
    const eventCount = eras.reduce((sum, era) => sum + era.eventCount, 0);
    const { items, actors } = generateEvents({ ...options, eventCount });
    const stride = Math.floor(eventCount / options.itemCount);
    for (let item = 0; item < options.itemCount; item += 1) items[item * stride] = item;
    this.items = items;
    this.actors = actors;
    this.itemCount = options.itemCount;
    this.untilMs = untilMs;
    let firstIndex = 0;
    this.#eras = eras.map((era) => {
      const placed = { ...era, firstIndex };
      firstIndex += era.eventCount;
      return placed;
    });
  }

  timeMsOf(event: number): number {
    const era = this.#eras.findLast(({ firstIndex }) => firstIndex <= event)!;
    const { fromAgeMs, toAgeMs, eventCount, firstIndex } = era;
    const ageMs = fromAgeMs - ((event - firstIndex) / eventCount) * (fromAgeMs - toAgeMs);
    return Math.floor(this.untilMs - ageMs);
  }

  /** The first event that is not earlier. */
  indexAt(timeMs: number): number {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.timeMsOf(middle) < timeMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** By the number of the item, over from <= time < to. */
  countsBetween(fromMs: number, toMs: number): Uint32Array {
    const counts = new Uint32Array(this.itemCount);
    for (const item of this.items.subarray(this.indexAt(fromMs), this.indexAt(toMs))) {
      counts[item]! += 1;
    }
    return counts;
  }

  topBetween(fromMs: number, toMs: number, k: number): CountedItem[] {
    const counts = this.countsBetween(fromMs, toMs);
    const least = counts.toSorted().at(-k)!;
    const rows: CountedItem[] = [];
    for (const [item, count] of counts.entries()) {
      if (count >= least && count > 0) rows.push({ item: itemName(item), count });
    }
    return rows.sort((a, b) => b.count - a.count || compareUtf8(a.item, b.item)).slice(0, k);
  }
}
