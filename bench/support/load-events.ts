/** The events that the benches of speed send, and the exact answers to them. */
import { Prng } from '../../src/lib/prng.ts';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { ZipfSampler } from '../../test/support/zipf.ts';

export interface EventsOptions {
  readonly eventCount: number;
  readonly itemCount: number;
  /** Of the Zipf distribution of the items. */
  readonly exponent: number;
  readonly actorCount: number;
  readonly seed: number;
}

/** Event by event, as numbers: a million events as objects would strain every process. */
export interface Events {
  readonly items: Uint32Array;
  readonly actors: Uint32Array;
}

export interface CountedItem {
  readonly item: string;
  readonly count: number;
}

/** Of the actors the first ones are the busiest: half of all events are by an eighth of them. */
const ACTOR_SKEW = 3;
const ACTOR_DIGITS = 9;
/** Odd, so that no two items get the same number; it spreads them over the whole range. */
const NAME_FACTOR = 2_654_435_761;

export function generateEvents(options: EventsOptions): Events {
  const { eventCount, itemCount, exponent, actorCount, seed } = options;
  const prng = new Prng(seed);
  const sampler = new ZipfSampler(itemCount, exponent);
  const items = new Uint32Array(eventCount);
  const actors = new Uint32Array(eventCount);
  for (let event = 0; event < eventCount; event += 1) {
    items[event] = sampler.next(prng);
    actors[event] = Math.floor(actorCount * prng.nextFloat() ** ACTOR_SKEW);
  }
  return { items, actors };
}

export function itemName(item: number): string {
  return `item-${Math.imul(item + 1, NAME_FACTOR) >>> 0}`;
}

export function actorName(actor: number): string {
  return `u${String(actor).padStart(ACTOR_DIGITS, '0')}`;
}

/** The body of a request with the events from `start`; about 58 bytes each. */
export function bodyOf({ items, actors }: Events, start: number, eventCount: number): string {
  const events: string[] = [];
  for (let event = start; event < start + eventCount; event += 1) {
    const item = itemName(items[event]!);
    events.push(`{"item":"${item}","actor":"${actorName(actors[event]!)}","count":1}`);
  }
  return `[${events.join(',')}]`;
}

/** How often each item occurs, by its number. */
export class ExactCounts {
  readonly #counts = new Map<number, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Number of different items. */
  get size(): number {
    return this.#counts.size;
  }

  get items(): IterableIterator<[item: number, count: number]> {
    return this.#counts.entries();
  }

  add(item: number, count: number): void {
    this.#counts.set(item, (this.#counts.get(item) ?? 0) + count);
    this.#total += count;
  }

  addAll(items: Iterable<number>, count = 1): void {
    for (const item of items) this.add(item, count);
  }

  merge(other: ExactCounts): void {
    for (const [item, count] of other.items) this.add(item, count);
  }

  /** The k most frequent, in the order of every answer: by count, then by the bytes. */
  top(k: number): CountedItem[] {
    return [...this.#counts]
      .map(([item, count]) => ({ item: itemName(item), count }))
      .sort((a, b) => b.count - a.count || compareUtf8(a.item, b.item))
      .slice(0, k);
  }
}
