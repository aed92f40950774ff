/**
 * Reads what spans of shares hold, over all partitions: closed summaries and parts that are not
 * compacted yet, as partition-reader.ts reads them from each. Several reads of one share fetch what
 * they have in common once.
 */
import { BrokenStreamError, StoreUnavailableError } from '../lib/store-errors.ts';
import { type Bucket, bucketKey } from './buckets.ts';
import { LAGGING_MS } from './limits.ts';
import {
  type PartitionRead,
  PartitionReader,
  type PartitionReaderOptions,
  partitionName,
  pickOf,
  type ReadTimes,
  type StoredSummary,
  type WantedShare,
} from './partition-reader.ts';

/** What is to be read of a share. */
export interface AskedRead {
  readonly share: string;
  /** In the order of the calendar, without gaps. */
  readonly buckets: readonly Bucket[];
  /** Also which actors each item had. */
  readonly viewers: boolean;
}

/** A summary with the time it is of, and where it came from. */
export interface BucketSummary extends StoredSummary {
  readonly partition: number;
}

export interface ReadResult {
  /** For each read in the order asked: in the order of the calendar, then of the partitions. */
  readonly summaries: readonly (readonly BucketSummary[])[];
  readonly asOfMs: number;
  readonly lagging: boolean;
  readonly missing: readonly string[];
  /** Summed up over partitions, which are read side by side. */
  readonly times: ReadTimes;
}

export class StreamReader {
  readonly #partitionCount: number;
  readonly #partitions: PartitionReader;

  constructor(options: PartitionReaderOptions) {
    this.#partitionCount = options.store.partitionCount;
    this.#partitions = new PartitionReader(options);
  }

  /** Bytes of decoded summaries in the cache. */
  get cachedBytes(): number {
    return this.#partitions.cachedBytes;
  }

  /**
   * All at one moment of each partition. `readAtMs`: a time before the call, from when on nothing
   * need be counted. Rejects with StoreUnavailableError when no partition could be read.
   */
  async read(asked: readonly AskedRead[], readAtMs: number): Promise<ReadResult> {
    const wanted = wantedShares(asked);
    const times: ReadTimes = { indexMs: 0, fetchMs: 0, decodeMs: 0 };
    const reading = Array.from({ length: this.#partitionCount }, (_, partition) =>
      this.#readOrMiss(partition, wanted, times),
    );
    const partitions = await Promise.all(reading);
    if (partitions.every((read) => read === null)) {
      throw new StoreUnavailableError('no partition could be read');
    }
    const waiting = partitions.map((read) => read?.oldestWaitingMs ?? readAtMs);
    const asOfMs = Math.min(readAtMs, ...waiting);
    const byShare = new Map(wanted.map(({ share }, at) => [share, foundOf(partitions, at)]));
    return {
      summaries: asked.map(({ share, buckets }) => byShare.get(share)!.filter(pickOf(buckets))),
      asOfMs,
      lagging: readAtMs - asOfMs > LAGGING_MS,
      missing: partitions.flatMap((read, partition) => read?.missing ?? [partitionName(partition)]),
      times,
    };
  }

  /** Null when the partition cannot be read now. */
  async #readOrMiss(
    partition: number,
    wanted: readonly WantedShare[],
    times: ReadTimes,
  ): Promise<PartitionRead | null> {
    try {
      return await this.#partitions.read(partition, wanted, times);
    } catch (error) {
      if (error instanceof StoreUnavailableError || error instanceof BrokenStreamError) return null;
      throw error;
    }
  }
}

/** Each share once, with all of its buckets that anybody asks for. */
function wantedShares(asked: readonly AskedRead[]): WantedShare[] {
  const byShare = new Map<string, AskedRead[]>();
  for (const each of asked) {
    const others = byShare.get(each.share);
    if (others === undefined) byShare.set(each.share, [each]);
    else others.push(each);
  }
  return [...byShare].map(([share, reads]) => {
    const spans = reads.map(({ buckets }) => buckets);
    const byKey = new Map(spans.flat().map((bucket) => [bucketKey(bucket), bucket]));
    const viewers = reads.some((read) => read.viewers);
    return { share, buckets: [...byKey.values()], viewers, spans };
  });
}

/** What all partitions hold of one of the shares, in the order of the calendar. */
function foundOf(partitions: readonly (PartitionRead | null)[], at: number): BucketSummary[] {
  return partitions
    .flatMap((read, partition) => {
      return (read?.shares[at] ?? []).map((found) => ({ ...found, partition }));
    })
    .sort((a, b) => a.bucket.startMs - b.bucket.startMs);
}
