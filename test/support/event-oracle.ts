import { compareUtf8 } from '../../src/lib/utf8.ts';
import { MINUTE_MS } from '../../src/streams/buckets.ts';
import type { EventInput } from '../../src/streams/ingest.ts';

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export type Ranked = [item: string, measure: number];

/** What is true of events: each has a time of its own. */
export class EventOracle {
  readonly events: readonly EventInput[];

  constructor(events: readonly EventInput[]) {
    this.events = events;
  }

  /** The events of the minutes that a span covers; a minute that has begun is one. */
  within({ fromMs, toMs }: Span): EventOracle {
    const endMs = Math.ceil(toMs / MINUTE_MS) * MINUTE_MS;
    return this.where(({ atMs }) => atMs !== null && atMs >= fromMs && atMs < endMs);
  }

  where(isMeant: (event: EventInput) => boolean): EventOracle {
    return new EventOracle(this.events.filter(isMeant));
  }

  get total(): number {
    return sumOf(this.events.map(({ count }) => count));
  }

  get withoutActor(): number {
    return this.where(({ actor }) => actor === null).total;
  }

  get actors(): Set<string> {
    return new Set(this.events.flatMap(({ actor }) => (actor === null ? [] : [actor])));
  }

  get counts(): Map<string, number> {
    return this.measures((events) => events.total);
  }

  /** Different actors of each item. */
  get actorCounts(): Map<string, number> {
    return this.measures((events) => events.actors.size);
  }

  countOf(item: string): number {
    return this.where((event) => event.item === item).total;
  }

  private measures(measure: (events: EventOracle) => number): Map<string, number> {
    const items = [...new Set(this.events.map(({ item }) => item))];
    return new Map(
      items.map((item) => [item, measure(this.where((event) => event.item === item))]),
    );
  }
}

/** In the order of every list: measure descending, then the item's bytes; those of 0 left out. */
export function ranked(measures: ReadonlyMap<string, number>): Ranked[] {
  return [...measures]
    .filter(([, measure]) => measure > 0)
    .sort(([a, x], [b, y]) => y - x || compareUtf8(a, b));
}

export function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
