import { HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import type { EventInput } from '../../src/streams/ingest.ts';

/** An event with the time it counts for. */
export interface AuditedEvent extends EventInput {
  readonly atMs: number;
}

/** Exact counts of one stream and minute. */
interface MinuteLedger {
  readonly counts: Map<string, number>;
  readonly actors: Set<string>;
}

/**
 * Holds the exact counts of what was acknowledged, in plain maps and by code of its own: nothing
 * of the product is used but the names of fields.
 */
export class Auditor {
  readonly #streams = new Map<string, Map<number, MinuteLedger>>();
  /** Events whose fate their sender never learned: each counts once or not at all. */
  readonly #uncertain = new Map<string, Map<string, number>>();

  acknowledge(events: readonly AuditedEvent[]): void {
    for (const { stream, item, actor, count, atMs } of events) {
      const minutes = this.#minutesOf(stream);
      const minute = Math.floor(atMs / MINUTE_MS);
      const ledger = minutes.get(minute) ?? { counts: new Map(), actors: new Set() };
      ledger.counts.set(item, (ledger.counts.get(item) ?? 0) + count);
      if (actor !== null) ledger.actors.add(actor);
      minutes.set(minute, ledger);
    }
  }

  /** The items of uncertain events are of their own: no other event has them. */
  doubt(events: readonly AuditedEvent[]): void {
    for (const { stream, item, count } of events) {
      const items = this.#uncertain.get(stream) ?? new Map<string, number>();
      items.set(item, count);
      this.#uncertain.set(stream, items);
    }
  }

  delete(stream: string): void {
    this.#streams.delete(stream);
    this.#uncertain.delete(stream);
  }

  get streams(): string[] {
    return [...this.#streams.keys()];
  }

  /** Hours in which something was acknowledged, as start times. */
  hoursOf(stream: string): number[] {
    const minutes = [...this.#minutesOf(stream).keys()];
    return [...new Set(minutes.map((minute) => Math.floor((minute * MINUTE_MS) / HOUR_MS)))].map(
      (hour) => hour * HOUR_MS,
    );
  }

  minutesOf(stream: string): number[] {
    return [...this.#minutesOf(stream).keys()].map((minute) => minute * MINUTE_MS);
  }

  /** Says what is wrong with an exact answer for [fromMs, toMs); null when it is right. */
  check(
    stream: string,
    fromMs: number,
    toMs: number,
    answer: ReadonlyMap<string, number>,
    distinct: number,
  ): string | null {
    const expected = new Map<string, number>();
    const actors = new Set<string>();
    for (const [minute, ledger] of this.#minutesOf(stream)) {
      if (minute * MINUTE_MS < fromMs || minute * MINUTE_MS >= toMs) continue;
      for (const [item, count] of ledger.counts) {
        expected.set(item, (expected.get(item) ?? 0) + count);
      }
      for (const actor of ledger.actors) actors.add(actor);
    }
    const uncertain = this.#uncertain.get(stream);
    let uncertainFound = 0;
    for (const [item, count] of answer) {
      const possible = uncertain?.get(item);
      if (possible === undefined) continue;
      if (count !== possible) return `${item}: ${count}, sent once with ${possible}`;
      uncertainFound += 1;
    }
    for (const [item, count] of expected) {
      const found = answer.get(item) ?? 0;
      if (found !== count) return `${item}: ${found} instead of ${count}`;
    }
    if (answer.size - uncertainFound !== expected.size) return 'items that nobody sent';
    const isWithin = distinct >= actors.size && distinct <= actors.size + uncertainFound;
    return isWithin ? null : `${distinct} actors instead of ${actors.size}`;
  }

  #minutesOf(stream: string): Map<number, MinuteLedger> {
    const minutes = this.#streams.get(stream) ?? new Map<number, MinuteLedger>();
    this.#streams.set(stream, minutes);
    return minutes;
  }
}
