/**
 * Reads what a span of a stream holds, over all partitions: closed summaries and parts that are not
 * compacted yet. Each partition is read at one moment: its index names summaries and parts by their
 * tags, and bytes are right exactly when they carry the tag that the index named. When something
 * named has gone meanwhile, the index is read again. Decoded summaries are cached by tag.
 */
import { LRUCache } from 'lru-cache';
import type { Tag } from '../lib/random-tag.ts';
import { BrokenStreamError, StoreUnavailableError } from '../lib/store-errors.ts';
import { SketchDecodeError } from '../sketches/sketch-decode-error.ts';
import type { Summary, SummaryContext } from '../sketches/summary.ts';
import { decodeSummary } from '../sketches/summary-codec.ts';
import { type Bucket, bucketEndMs, bucketName } from './buckets.ts';
import { LAGGING_MS, READ_ATTEMPTS_MAX, READ_SLICE } from './limits.ts';
import type { PartRef, StoredSummary, StreamIndex, StreamStore } from './store-port.ts';
import type { CoveredSpan } from './window.ts';

export interface ReaderOptions {
  readonly store: StreamStore;
  readonly closedContext: SummaryContext;
  readonly partContext: SummaryContext;
  /** Decoded summaries are kept up to about so many bytes. */
  readonly cacheBytes: number;
}

/** A summary with the time it is of. */
export interface BucketSummary {
  readonly bucket: Bucket;
  readonly summary: Summary;
}

export interface ReadResult {
  /** In the order of the calendar, then of the partitions. */
  readonly summaries: readonly BucketSummary[];
  readonly asOfMs: number;
  readonly lagging: boolean;
  readonly missing: readonly string[];
}

interface ShareRead {
  readonly summaries: readonly BucketSummary[];
  readonly oldestWaitingMs: number | null;
  readonly missing: readonly string[];
}

/** What an index names: `tag` decides whether the bytes are the right ones. */
interface Wanted {
  readonly bucket: Bucket;
  readonly tag: Tag;
}

export class StreamReader {
  readonly #options: ReaderOptions;
  readonly #cache: LRUCache<Tag, Summary>;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#cache = new LRUCache({
      maxSize: options.cacheBytes,
      sizeCalculation: (summary) => summary.byteLength,
    });
  }

  /** Bytes of decoded summaries in the cache. */
  get cachedBytes(): number {
    return this.#cache.calculatedSize;
  }

  /**
   * `readAtMs`: a time before the call, from when on nothing need be counted. Rejects with
   * StoreUnavailableError when no partition could be read.
   */
  async read(
    stream: string,
    { buckets }: Pick<CoveredSpan, 'buckets'>,
    readAtMs: number,
  ): Promise<ReadResult> {
    const { store } = this.#options;
    const partitions = Array.from({ length: store.partitionCount }, (_, partition) => partition);
    const shares = await Promise.all(
      partitions.map((partition) => this.#readShareOrMiss(partition, stream, buckets)),
    );
    const read = shares.filter((share) => share !== null);
    if (read.length === 0) throw new StoreUnavailableError('no partition could be read');
    const waiting = read.map(({ oldestWaitingMs }) => oldestWaitingMs ?? readAtMs);
    const asOfMs = Math.min(readAtMs, ...waiting);
    return {
      summaries: read
        .flatMap(({ summaries }) => summaries)
        .sort((a, b) => a.bucket.startMs - b.bucket.startMs),
      asOfMs,
      lagging: readAtMs - asOfMs > LAGGING_MS,
      missing: shares.flatMap((share, partition) => share?.missing ?? [`partition ${partition}`]),
    };
  }

  /** Null when the partition cannot be read now. */
  async #readShareOrMiss(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
  ): Promise<ShareRead | null> {
    try {
      return await this.#readShare(partition, stream, buckets);
    } catch (error) {
      if (error instanceof StoreUnavailableError || error instanceof BrokenStreamError) return null;
      throw error;
    }
  }

  async #readShare(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
  ): Promise<ShareRead> {
    for (let attempt = 0; attempt < READ_ATTEMPTS_MAX; attempt += 1) {
      const index = await this.#options.store.readIndex(partition, stream, buckets);
      const share = await this.#readNamed(partition, stream, buckets, index);
      if (share !== null) return share;
    }
    throw new StoreUnavailableError(`partition ${partition} changed during each attempt to read`);
  }

  /** Null when something that the index names has gone. */
  async #readNamed(
    partition: number,
    stream: string,
    buckets: readonly Bucket[],
    index: StreamIndex,
  ): Promise<ShareRead | null> {
    const { store } = this.#options;
    const found: BucketSummary[] = [];
    const missing = new Set<string>();
    const closed: Wanted[] = [];
    for (const [at, bucket] of buckets.entries()) {
      const tag = index.summaryTags[at] ?? null;
      if (tag === 'broken') missing.add(missingName(partition, bucket));
      else if (tag !== null) closed.push({ bucket, tag });
    }
    const open = partsWithin(index.parts, buckets);
    const lackedClosed = this.#takeCached(closed, found);
    const lackedOpen = this.#takeCached(open, found);
    const { closedContext, partContext } = this.#options;
    let overtaken = false;
    const take = (wanted: Wanted, read: StoredSummary | null, context: SummaryContext): void => {
      if (read === null || read.tag !== wanted.tag) {
        overtaken = true;
        return;
      }
      const summary = this.#decode(read, context);
      if (summary !== null) found.push({ bucket: wanted.bucket, summary });
      else missing.add(missingName(partition, wanted.bucket));
    };
    await Promise.all([
      inSlices(
        lackedClosed,
        (slice) =>
          store.readSummaries(
            partition,
            stream,
            slice.map(({ bucket }) => bucket),
          ),
        (wanted, stored) => take(wanted, stored, closedContext),
      ),
      inSlices(
        lackedOpen,
        (slice) =>
          store.readParts(
            partition,
            stream,
            slice.map(({ tag }) => tag),
          ),
        ({ bucket, tag }, blob) =>
          take({ bucket, tag }, blob === null ? null : { tag, blob }, partContext),
      ),
    ]);
    if (overtaken) return null;
    for (const { bucket, summary } of found) {
      if (summary.incomplete) missing.add(missingName(partition, bucket));
    }
    return { summaries: found, oldestWaitingMs: index.oldestWaitingMs, missing: [...missing] };
  }

  /** Moves what is cached to `found` and returns the rest. */
  #takeCached(wanted: readonly Wanted[], found: BucketSummary[]): Wanted[] {
    return wanted.filter(({ bucket, tag }) => {
      const summary = this.#cache.get(tag);
      if (summary === undefined) return true;
      found.push({ bucket, summary });
      return false;
    });
  }

  /** Null when the bytes are damaged. */
  #decode({ tag, blob }: StoredSummary, context: SummaryContext): Summary | null {
    try {
      const summary = decodeSummary(blob, context);
      this.#cache.set(tag, summary);
      return summary;
    } catch (error) {
      if (error instanceof SketchDecodeError) return null;
      throw error;
    }
  }
}

/**
 * Reads a slice at a time, and asks for the next one before it uses what came: so the store works
 * while this process decodes.
 */
async function inSlices<Asked, Read>(
  wanted: readonly Asked[],
  read: (slice: readonly Asked[]) => Promise<readonly (Read | null)[]>,
  use: (asked: Asked, found: Read | null) => void,
): Promise<void> {
  const readFrom = (start: number): Promise<readonly (Read | null)[]> =>
    start < wanted.length ? read(wanted.slice(start, start + READ_SLICE)) : Promise.resolve([]);
  let coming = readFrom(0);
  for (let start = 0; start < wanted.length; start += READ_SLICE) {
    const found = await coming;
    coming = readFrom(start + READ_SLICE);
    for (const [at, asked] of wanted.slice(start, start + READ_SLICE).entries()) {
      use(asked, found[at] ?? null);
    }
  }
}

/** The parts whose time lies within one of the buckets. */
function partsWithin(parts: readonly PartRef[], buckets: readonly Bucket[]): PartRef[] {
  const [first] = buckets;
  const last = buckets.at(-1);
  if (first === undefined || last === undefined) return [];
  const endMs = bucketEndMs(last);
  return parts.filter(
    ({ bucket }) => bucket.startMs >= first.startMs && bucketEndMs(bucket) <= endMs,
  );
}

function missingName(partition: number, bucket: Bucket): string {
  return `partition ${partition} ${bucketName(bucket)}`;
}
