/** Events of a generated hour: which item in which minute, with the exact counts beside them. */
import { Prng } from '../../src/lib/prng.ts';
import { ZipfSampler } from '../../test/support/zipf.ts';

export interface Workload {
  readonly name: string;
  /** Of the Zipf distribution. */
  readonly exponent: number;
  /** So many new items enter at the top each minute, and all others sink by as many ranks. */
  readonly driftRanksPerMinute: number;
}

export const WORKLOADS: readonly Workload[] = [
  { name: 'Zipf 1.0', exponent: 1, driftRanksPerMinute: 0 },
  { name: 'Zipf 0.8', exponent: 0.8, driftRanksPerMinute: 0 },
  { name: 'Zipf 1.0, drifting head', exponent: 1, driftRanksPerMinute: 3 },
];

export interface HourOptions {
  readonly eventCount: number;
  readonly itemCount: number;
  readonly minuteCount: number;
  readonly partitionCount: number;
  /** Events travel in batches of this size, each to one partition picked by chance. */
  readonly batchSize: number;
}

/** How often each item occurred in one minute and partition, by the item's number. */
export interface Share {
  readonly minute: number;
  readonly partition: number;
  readonly counts: ReadonlyMap<number, number>;
}

/** Samplers take a second to make for a million items and do not change. */
const samplers = new Map<string, ZipfSampler>();

/** All shares of the hour, minute by minute, and the counts of the whole hour by item number. */
export function* generateHour(
  workload: Workload,
  options: HourOptions,
  seed: number,
  truth: Uint32Array,
): Generator<Share> {
  const { eventCount, itemCount, minuteCount, partitionCount, batchSize } = options;
  const sampler = samplerOf(itemCount, workload.exponent);
  const prng = new Prng(seed);
  const eventsPerMinute = Math.ceil(eventCount / minuteCount);
  let eventsLeft = eventCount;
  for (let minute = 0; minute < minuteCount; minute += 1) {
    const sunkRanks = (minute * workload.driftRanksPerMinute) % itemCount;
    const counts = Array.from({ length: partitionCount }, () => new Map<number, number>());
    let partition = 0;
    const minuteEvents = Math.min(eventsPerMinute, eventsLeft);
    for (let event = 0; event < minuteEvents; event += 1) {
      if (event % batchSize === 0) partition = prng.nextInt(partitionCount);
      // The newest items have the highest numbers: they stand above item 0 once it has sunk.
      const item = (sampler.next(prng) - sunkRanks + itemCount) % itemCount;
      const share = counts[partition]!;
      share.set(item, (share.get(item) ?? 0) + 1);
      truth[item]! += 1;
    }
    eventsLeft -= minuteEvents;
    for (const [index, share] of counts.entries()) {
      yield { minute, partition: index, counts: share };
    }
  }
}

export function itemName(item: number): string {
  return `/item/${item}`;
}

function samplerOf(itemCount: number, exponent: number): ZipfSampler {
  const key = `${itemCount} ${exponent}`;
  const sampler = samplers.get(key) ?? new ZipfSampler(itemCount, exponent);
  samplers.set(key, sampler);
  return sampler;
}
