/**
 * A synthetic history of a stream, hour by hour, with the truth beside it: items of very different
 * frequency, a rhythm of the day with quiet hours, one of the week, days that are busier for an
 * item than others, bursts in single hours, and bots (one actor with very many events). All of it
 * follows from the seed.
 */
import { Prng } from '../../src/lib/prng.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';

const HOURS_PER_DAY = 24;
/** Of the days before the first burst all are needed to say what is usual. */
export const FIRST_BURST_DAY = 8;
/** What a burst is told from: so many events are usual for its item in that hour, at least. */
export const BURST_USUAL_MIN = 20;
const BURST_FACTOR_MIN = 3;
const BURST_FACTOR_MAX = 8;
/** What an item's burst is, it is also for the same hour of so many days: usual from then on. */
const BURST_SPACING_DAYS = 7;
const BOT_EVENTS = 400;
const USERS = 20_000;
/** Of the busiest item in an average hour. */
const RATE_MAX = 160;
/** From 4 in the night to the evening. */
const RHYTHM = [
  ...[0.5, 0.35, 0.22, 0.15, 0.12, 0.15, 0.3, 0.55, 0.8, 0.9, 0.95, 1],
  ...[1.1, 1.1, 1, 1, 1.05, 1.15, 1.3, 1.55, 1.8, 1.7, 1.3, 0.85],
];
const WEEKEND = 1.4;
/** Standard deviation of the logarithm of how busy a day is for an item. */
const DAY_NOISE = 0.08;

export interface HistoryOptions {
  readonly seed: number;
  readonly days: number;
  readonly itemCount: number;
  readonly burstCount: number;
  readonly botCount: number;
}

/** What happened to an item in an hour, in place of what is usual. */
export interface Planted {
  readonly item: string;
  readonly hour: number;
}

export interface HourEvent {
  readonly item: string;
  readonly actor: string;
  readonly count: number;
  /** Within the hour. */
  readonly offsetMs: number;
}

export class TrendingHistory {
  readonly bursts: readonly Planted[];
  readonly bots: readonly Planted[];
  readonly #options: HistoryOptions;
  readonly #factors = new Map<string, number>();
  readonly #botHours = new Set<string>();

  constructor(options: HistoryOptions) {
    this.#options = options;
    const prng = new Prng(options.seed);
    this.bursts = this.#plantBursts(prng);
    this.bots = this.#plantBots(prng);
  }

  get hourCount(): number {
    return this.#options.days * HOURS_PER_DAY;
  }

  /** The events of an hour, in no particular order. */
  eventsOf(hour: number): HourEvent[] {
    const { seed, itemCount } = this.#options;
    const prng = new Prng(seed * 100_003 + hour);
    const events: HourEvent[] = [];
    const add = (item: string, actor: string, count: number): void => {
      events.push({ item, actor, count, offsetMs: prng.nextInt(6) * (HOUR_MS / 6) });
    };
    for (let number = 0; number < itemCount; number += 1) {
      const item = itemName(number);
      const key = keyOf(item, hour);
      const mean = this.#usual(number, hour) * (this.#factors.get(key) ?? 1);
      const count = poisson(mean, prng);
      for (let event = 0; event < count; event += 1) {
        add(item, `user-${prng.nextInt(USERS)}`, 1);
      }
      if (this.#botHours.has(key)) add(item, 'bot', BOT_EVENTS);
    }
    return events;
  }

  #plantBursts(prng: Prng): Planted[] {
    const bursts: Planted[] = [];
    const lastHours = new Map<string, number[]>();
    while (bursts.length < this.#options.burstCount) {
      const number = prng.nextInt(this.#options.itemCount);
      const first = FIRST_BURST_DAY * HOURS_PER_DAY;
      const hour = first + prng.nextInt(this.hourCount - first);
      const item = itemName(number);
      const others = lastHours.get(item) ?? [];
      if (this.#usual(number, hour) < BURST_USUAL_MIN) continue;
      if (others.some((other) => isUsualBy(other, hour))) continue;
      lastHours.set(item, [...others, hour]);
      const factor = BURST_FACTOR_MIN + prng.nextFloat() * (BURST_FACTOR_MAX - BURST_FACTOR_MIN);
      this.#factors.set(keyOf(item, hour), factor);
      bursts.push({ item, hour });
    }
    return bursts;
  }

  #plantBots(prng: Prng): Planted[] {
    return Array.from({ length: this.#options.botCount }, () => {
      const item = itemName(prng.nextInt(this.#options.itemCount));
      const hour =
        FIRST_BURST_DAY * HOURS_PER_DAY +
        prng.nextInt(this.hourCount - FIRST_BURST_DAY * HOURS_PER_DAY);
      this.#botHours.add(keyOf(item, hour));
      return { item, hour };
    });
  }

  /** The mean number of events. */
  #usual(number: number, hour: number): number {
    const { seed, itemCount } = this.#options;
    const day = Math.floor(hour / HOURS_PER_DAY);
    const noise = new Prng(seed * 1_000_003 + day * itemCount + number);
    const rate = RATE_MAX / (1 + number / 4);
    const weekday = day % 7 >= 5 ? WEEKEND : 1;
    return rate * RHYTHM[hour % HOURS_PER_DAY]! * weekday * Math.exp(DAY_NOISE * normal(noise));
  }
}

function isUsualBy(burstHour: number, hour: number): boolean {
  const days = Math.abs(hour - burstHour) / HOURS_PER_DAY;
  return Number.isInteger(days) && days <= BURST_SPACING_DAYS;
}

export function keyOf(item: string, hour: number): string {
  return `${hour}:${item}`;
}

function itemName(number: number): string {
  return `/page/${number}`;
}

/** Box and Muller's way to a normal deviate. */
function normal(prng: Prng): number {
  const radius = Math.sqrt(-2 * Math.log(1 - prng.nextFloat()));
  return radius * Math.cos(2 * Math.PI * prng.nextFloat());
}

/** Small means by multiplying uniform deviates (Knuth), large ones by a rounded normal. */
function poisson(mean: number, prng: Prng): number {
  if (mean > 60) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(prng)));
  const least = Math.exp(-mean);
  let product = prng.nextFloat();
  let count = 0;
  while (product > least) {
    product *= prng.nextFloat();
    count += 1;
  }
  return count;
}
