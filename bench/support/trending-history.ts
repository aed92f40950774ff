/**
 * A synthetic history of a stream, hour by hour, with the truth beside it. Items of very different
 * frequency share a rhythm of the day with quiet hours and one of the week, each in its own
 * measure; all hours, and the days of each item, are busier or quieter by chance. Into it are
 * planted bursts (an hour in which an item has many times its usual events, of many actors) and
 * bots (one actor with very many events). All of it follows from the seed.
 */
import { Prng } from '../../src/lib/prng.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { normal, poisson } from '../../test/support/deviates.ts';

const HOURS_PER_DAY = 24;
/** So many days say what is usual; nothing is planted into the first ones. */
export const BASELINE_DAYS = 7;
/**
 * A burst is planted only where it can be told from chance at all: of an item with so many usual
 * events in that hour, and not at an hour of the day at which one of the days that say what is
 * usual has something planted for the same item: what happened this week already is not unusual.
 */
const USUAL_MIN = 30;
const FACTOR_MIN = 3;
const FACTOR_MAX = 8;
/** Some have as many events as all of the stream in an hour. */
const BOT_EVENTS_MIN = 200;
const BOT_EVENTS_MAX = 4_000;
const USERS = 50_000;
/** From midnight on. */
const RHYTHM = [
  ...[0.5, 0.35, 0.22, 0.15, 0.12, 0.15, 0.3, 0.55, 0.8, 0.9, 0.95, 1],
  ...[1.1, 1.1, 1, 1, 1.05, 1.15, 1.3, 1.55, 1.8, 1.7, 1.3, 0.85],
];
const WEEKEND_MIN = 1.1;
const WEEKEND_MAX = 1.7;
/** Standard deviations of logarithms: of the hours of the stream, and of an item's days. */
const HOUR_NOISE = 0.1;
const DAY_NOISE_MIN = 0.05;
const DAY_NOISE_MAX = 0.15;
/** Events come at so many moments of an hour, evenly spread. */
const MOMENTS = 4;

export interface HistoryOptions {
  readonly seed: number;
  readonly days: number;
  readonly itemCount: number;
  /** Events of the busiest item in an average hour. */
  readonly rateMax: number;
  readonly burstCount: number;
  readonly botCount: number;
}

/** Something unusual that happens to an item in an hour. */
export interface Planted {
  readonly item: string;
  readonly hour: number;
  /** How many events are usual for the item in that hour. */
  readonly usual: number;
  /** What they are multiplied by. */
  readonly factor: number;
}

export interface HourEvent {
  readonly item: string;
  readonly actor: string;
  readonly count: number;
  /** Within the hour. */
  readonly offsetMs: number;
}

interface Item {
  readonly name: string;
  readonly rate: number;
  readonly weekend: number;
  /** Of each day. */
  readonly dayFactors: readonly number[];
}

export class TrendingHistory {
  readonly hourCount: number;
  readonly bursts: readonly Planted[];
  readonly bots: readonly Planted[];
  readonly #seed: number;
  readonly #items: readonly Item[];
  readonly #planted = new Map<string, Planted>();

  constructor(options: HistoryOptions) {
    const { seed, days, itemCount, rateMax, burstCount, botCount } = options;
    const prng = new Prng(seed);
    this.#seed = seed;
    this.hourCount = days * HOURS_PER_DAY;
    this.#items = Array.from({ length: itemCount }, (_, number) => {
      const noise = between(DAY_NOISE_MIN, DAY_NOISE_MAX, prng);
      return {
        name: `/page/${number}`,
        rate: rateMax / (1 + number / 4),
        weekend: between(WEEKEND_MIN, WEEKEND_MAX, prng),
        dayFactors: Array.from({ length: days }, () => Math.exp(noise * normal(prng))),
      };
    });
    this.bots = this.#plant(botCount, 0, prng, () => 1);
    this.bursts = this.#plant(burstCount, USUAL_MIN, prng, () =>
      between(FACTOR_MIN, FACTOR_MAX, prng),
    );
  }

  /** The events of an hour, in no particular order. */
  eventsOf(hour: number): HourEvent[] {
    const prng = new Prng(this.#seed * 100_003 + hour);
    const busy = Math.exp(HOUR_NOISE * normal(prng));
    const bots = this.bots.filter((bot) => bot.hour === hour).map(({ item }) => item);
    const events: HourEvent[] = [];
    const add = (item: string, actor: string, count: number): void => {
      const offsetMs = prng.nextInt(MOMENTS) * (HOUR_MS / MOMENTS) + MINUTE_MS / 2;
      events.push({ item, actor, count, offsetMs });
    };
    for (const item of this.#items) {
      const factor = this.#planted.get(keyOf(item.name, hour))?.factor ?? 1;
      const count = poisson(usualOf(item, hour) * busy * factor, prng);
      for (let event = 0; event < count; event += 1) {
        add(item.name, `user-${prng.nextInt(USERS)}`, 1);
      }
    }
    for (const item of bots) {
      const size = BOT_EVENTS_MIN * (BOT_EVENTS_MAX / BOT_EVENTS_MIN) ** prng.nextFloat();
      for (let piece = 0; piece < MOMENTS; piece += 1) add(item, 'bot', Math.ceil(size / MOMENTS));
    }
    return events;
  }

  #plant(count: number, usualMin: number, prng: Prng, drawFactor: () => number): Planted[] {
    const firstHour = BASELINE_DAYS * HOURS_PER_DAY;
    const list: Planted[] = [];
    while (list.length < count) {
      const item = this.#items[prng.nextInt(this.#items.length)]!;
      const hour = firstHour + prng.nextInt(this.hourCount - firstHour);
      const usual = usualOf(item, hour);
      if (usual < usualMin || this.#isTaken(item.name, hour)) continue;
      const planted = { item: item.name, hour, usual, factor: drawFactor() };
      this.#planted.set(keyOf(item.name, hour), planted);
      list.push(planted);
    }
    return list;
  }

  #isTaken(item: string, hour: number): boolean {
    for (let day = -BASELINE_DAYS; day <= BASELINE_DAYS; day += 1) {
      if (this.#planted.has(keyOf(item, hour + day * HOURS_PER_DAY))) return true;
    }
    return false;
  }
}

export function keyOf(item: string, hour: number): string {
  return `${hour}:${item}`;
}

/** The mean number of events; the first day is a Monday. */
function usualOf({ rate, weekend, dayFactors }: Item, hour: number): number {
  const day = Math.floor(hour / HOURS_PER_DAY);
  const ofWeek = day % 7 >= 5 ? weekend : 1;
  return rate * RHYTHM[hour % HOURS_PER_DAY]! * ofWeek * dayFactors[day]!;
}

function between(min: number, max: number, prng: Prng): number {
  return min + (max - min) * prng.nextFloat();
}
