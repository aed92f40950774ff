import { Prng } from '../../src/lib/prng.ts';
import { ZipfSampler } from './zipf.ts';

/** A named kind of events; each size and seed gives other events of the kind. */
export interface Dataset {
  readonly name: string;
  /** The items of `size` events in the order in which they arrive. */
  readonly generate: (size: number, seed: number) => string[];
}

/** How many events there are for each item, roughly, where the kind leaves it open. */
const EVENTS_PER_ITEM = 4;
const DRIFT_STEPS = 20;

export const DATASETS: readonly Dataset[] = [
  { name: 'uniform', generate: (size, seed) => zipf(size, seed, 0) },
  { name: 'Zipf 0.8', generate: (size, seed) => zipf(size, seed, 0.8) },
  { name: 'Zipf 1.0', generate: (size, seed) => zipf(size, seed, 1) },
  { name: 'Zipf 1.2', generate: (size, seed) => zipf(size, seed, 1.2) },
  { name: 'one heavy key', generate: oneHeavyKey },
  { name: 'all distinct', generate: (size) => numberedItems(size) },
  { name: 'drifting heads', generate: driftingHeads },
  { name: 'the heaviest last', generate: heaviestLast },
  { name: 'the heaviest first', generate: (size) => heaviestLast(size).reverse() },
];

function itemCountOf(size: number): number {
  return Math.max(1, Math.floor(size / EVENTS_PER_ITEM));
}

function numberedItems(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `item-${index}`);
}

function zipf(size: number, seed: number, exponent: number): string[] {
  const prng = new Prng(seed);
  const sampler = new ZipfSampler(itemCountOf(size), exponent);
  return Array.from({ length: size }, () => `item-${sampler.next(prng)}`);
}

/** Every other event is the same item, among items that occur once each. */
function oneHeavyKey(size: number, seed: number): string[] {
  const prng = new Prng(seed);
  return numberedItems(size).map((item) => (prng.chance(0.5) ? 'heavy' : item));
}

/** The most frequent items are others in every twentieth of the time. */
function driftingHeads(size: number, seed: number): string[] {
  const prng = new Prng(seed);
  const itemCount = itemCountOf(size);
  const sampler = new ZipfSampler(itemCount, 1);
  return Array.from({ length: size }, (_, index) => {
    const sunk = 3 * Math.floor((index * DRIFT_STEPS) / size);
    return `item-${(sampler.next(prng) + sunk) % itemCount}`;
  });
}

/** Item i occurs i times, one item after the other: each new one pushes a listed one out. */
function heaviestLast(size: number): string[] {
  const events: string[] = [];
  for (let item = 1; events.length < size; item += 1) {
    for (let count = 0; count < item && events.length < size; count += 1) {
      events.push(`item-${item}`);
    }
  }
  return events;
}
