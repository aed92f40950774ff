import type { Prng } from '../../src/lib/prng.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import type { SettingsInput } from '../../src/streams/settings.ts';
import type { AuditedEvent } from './auditor.ts';

export const SHARED_STREAMS = ['shared', 'other'];

/** The dimensions of the shared streams: one with a list of its values, one of those that come. */
export const SHARED_SETTINGS: SettingsInput = {
  dimensions: [
    { name: 'place', values: ['in', 'us'] },
    { name: 'device', maxValues: 2 },
  ],
};
export const OWN_SETTINGS: SettingsInput = {
  dimensions: [{ name: 'place', values: ['in'] }],
};
const PLACES = ['in', 'us', 'de', null];
const DEVICES = ['tv', 'phone', 'tablet', null, null];
/** How far back a time lies that is imported: late events meet in the buckets around it. */
const IMPORT_AGES_MAX_MS = [DAY_MS, 32 * DAY_MS, 400 * DAY_MS];

/** Draws events: mostly of now, some of any age. */
export class EventSource {
  readonly #prng: Prng;
  readonly #isFocused: boolean;
  readonly #batchEventsMax: number;
  readonly #importAgesMs: readonly number[];

  /** `isFocused`: most of one stream. */
  constructor(prng: Prng, isFocused: boolean, batchEventsMax: number) {
    this.#prng = prng;
    this.#isFocused = isFocused;
    this.#batchEventsMax = batchEventsMax;
    this.#importAgesMs = IMPORT_AGES_MAX_MS.map((maxMs) => msBelow(prng, maxMs));
  }

  /**
   * A batch. With a suffix its items and actors stand in it only, so that their fate can be told
   * when nobody knows whether the batch counts.
   */
  makeEvents(ownStream: string, suffix: string, nowMs: number): AuditedEvent[] {
    const prng = this.#prng;
    const count = 1 + prng.nextInt(this.#batchEventsMax);
    return Array.from({ length: count }, (_, index) => {
      const anyStream = prng.pick(['shared', 'shared', 'shared', 'other', ownStream]);
      const stream = this.#isFocused && prng.chance(0.9) ? 'shared' : anyStream;
      return {
        index,
        stream,
        item: suffix === '' ? `item-${prng.nextInt(8)}` : `item${suffix}-${index}`,
        actor: suffix === '' ? `actor-${prng.nextInt(20)}` : `actor${suffix}-${index}`,
        count: 1 + prng.nextInt(3),
        atMs: nowMs - this.#ageMs(),
        dims: this.#dims(),
      };
    });
  }

  #dims(): Record<string, string> {
    const dims = { place: this.#prng.pick(PLACES), device: this.#prng.pick(DEVICES) };
    const named = Object.entries(dims).filter(
      (entry): entry is [string, string] => entry[1] !== null,
    );
    return Object.fromEntries(named);
  }

  /** Mostly now, some late by minutes, hours, weeks or months, some of the future, some too old. */
  #ageMs(): number {
    const prng = this.#prng;
    const kind = prng.nextFloat();
    if (kind < 0.65) return prng.nextInt(2_000);
    if (kind < 0.74) return prng.nextInt(3 * MINUTE_MS);
    if (kind < 0.84) return prng.pick(this.#importAgesMs) + prng.nextInt(HOUR_MS);
    if (kind < 0.9) return prng.nextInt(30 * HOUR_MS);
    if (kind < 0.93) return prng.nextInt(34 * DAY_MS);
    if (kind < 0.96) return msBelow(prng, 400 * DAY_MS);
    if (kind < 0.98) return -prng.nextInt(2 * MINUTE_MS);
    return 402 * DAY_MS + prng.nextInt(DAY_MS);
  }
}

/** Drawn evenly; `nextInt` does not reach that far. */
export function msBelow(prng: Prng, maxMs: number): number {
  return Math.floor(prng.nextFloat() * maxMs);
}
