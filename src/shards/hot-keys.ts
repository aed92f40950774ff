/**
 * Which keys are hot, as one process sees it: each interval a heavy-hitter sketch of its own, which
 * the process counts its writes into and reports when the interval ends. The reports of all
 * processes together (growth.ts) say into how many parts a key belongs. Pure.
 */
import { assert } from '../lib/assert.ts';
import { compareUtf8 } from '../lib/utf8.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { ItemSketch } from '../sketches/item-sketch.ts';

/**
 * The cells of an interval: 64 KiB. They only decide who is listed, to within about 1/1500 of all
 * writes.
 */
const SHAPE = { width: 4_096, depth: 4 };

/**
 * How many keys are listed at most, at about 160 bytes and the key each. A key with more than one
 * in so many of an interval's writes is listed at its end, and its lower bound misses no more of
 * them than that, whatever the others do: the promise of Space-Saving (Metwally, Agrawal,
 * El Abbadi, 2005), which holds because a key enters with the least count listed at most.
 */
const CANDIDATES = 1_024;

/** A shorter interval counts as one of a second: ten writes within a millisecond are no rate. */
const INTERVAL_MS_MIN = 1_000;

const SECOND_MS = 1_000;

export interface KeyRate {
  readonly key: string;
  /** Weight per second: writes per second, if each write weighs 1. */
  readonly ratePerSecond: number;
}

export interface HotKeysOptions {
  /** The deployment's, so that nobody outside can choose keys that collide. */
  readonly hash: KeyedHash;
  readonly nowMs: number;
  /** Keys below it are not reported: it bounds the size of a report. */
  readonly ratePerSecondMin: number;
}

export class HotKeys {
  readonly #hash: KeyedHash;
  readonly #ratePerSecondMin: number;
  #sinceMs: number;
  #sketch = ItemSketch.empty(SHAPE, CANDIDATES);

  constructor({ hash, nowMs, ratePerSecondMin }: HotKeysOptions) {
    assert(ratePerSecondMin > 0, 'a key without writes is not hot');
    this.#hash = hash;
    this.#sinceMs = nowMs;
    this.#ratePerSecondMin = ratePerSecondMin;
  }

  /** Counts a write. `weight` is the work it makes, a positive integer; it is no score. */
  record(key: string, weight: number): void {
    assert(Number.isSafeInteger(weight) && weight > 0, 'a weight is a positive integer');
    this.#sketch.add(key, weight, this.#hash);
  }

  /**
   * Ends the interval: its hot keys, hottest first. The next one starts empty.
   *
   * Rates are lower bounds: what was certainly counted for the key since it was listed. The upper
   * bound holds writes of others that share its cells, and a split is paid by every later read: a
   * key must not be called hot by noise. One that is hot is soon listed, and stays.
   *
   * An interval at whose end the clock shows less than at its start has no rates.
   */
  take(nowMs: number): KeyRate[] {
    const { top } = this.#sketch;
    const elapsedMs = nowMs - this.#sinceMs;
    this.#sketch = ItemSketch.empty(SHAPE, CANDIDATES);
    this.#sinceMs = nowMs;
    if (elapsedMs < 0) return [];
    const seconds = Math.max(elapsedMs, INTERVAL_MS_MIN) / SECOND_MS;
    const rates: KeyRate[] = [];
    top.forEach((key, _upper, lower) => {
      const ratePerSecond = lower / seconds;
      if (ratePerSecond >= this.#ratePerSecondMin) rates.push({ key, ratePerSecond });
    });
    return rates.sort(compareRates);
  }
}

/** Hottest first, then by the bytes of the key. */
export function compareRates(a: KeyRate, b: KeyRate): number {
  return b.ratePerSecond - a.ratePerSecond || compareUtf8(a.key, b.key);
}
