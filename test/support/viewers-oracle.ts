import type { SummaryEvent } from './summary-events.ts';

/** Which actors each item really had, and how many events. */
export class ViewersOracle {
  readonly #actors = new Map<string, Set<string>>();
  readonly #events = new Map<string, number>();

  static of(events: Iterable<SummaryEvent>): ViewersOracle {
    const oracle = new ViewersOracle();
    for (const { item, count, actor } of events) {
      oracle.#events.set(item, oracle.eventsOf(item) + count);
      if (actor === null) continue;
      const actors = oracle.#actors.get(item);
      if (actors === undefined) oracle.#actors.set(item, new Set([actor]));
      else actors.add(actor);
    }
    return oracle;
  }

  get items(): string[] {
    return [...this.#events.keys()];
  }

  eventsOf(item: string): number {
    return this.#events.get(item) ?? 0;
  }

  viewersOf(item: string): number {
    return this.#actors.get(item)?.size ?? 0;
  }
}
