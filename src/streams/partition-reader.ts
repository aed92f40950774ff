/**
 * Reads one partition at one moment: its index names summaries and parts by their tags, and bytes
 * are right exactly when they carry the tag that the index named. When something named has gone
 * meanwhile, the index is read again. Decoded summaries are cached by tag.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../lib/clock.ts';
import type { Tag } from '../lib/random-tag.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { SketchDecodeError } from '../sketches/sketch-decode-error.ts';
import type { Summary, SummaryContext } from '../sketches/summary.ts';
import { decodeSummary, decodeViewers } from '../sketches/summary-codec.ts';
import { type Bucket, bucketEndMs, bucketKey, bucketName } from './buckets.ts';
import { READ_ATTEMPTS_MAX, READ_SLICE } from './limits.ts';
import type { AskedIndex, Column, ShareIndex, StoredColumn, StreamStore } from './store-port.ts';

export interface PartitionReaderOptions {
  readonly store: StreamStore;
  readonly clock: Clock;
  readonly closedContext: SummaryContext;
  readonly partContext: SummaryContext;
  /** Decoded summaries are kept up to about so many bytes. */
  readonly cacheBytes: number;
}

export interface WantedShare extends AskedIndex {
  /** Also which actors each item had. */
  readonly viewers: boolean;
  /** Open parts are wanted where they lie in one of these runs of buckets without gaps. */
  readonly spans: readonly (readonly Bucket[])[];
}

export interface StoredSummary {
  readonly bucket: Bucket;
  readonly summary: Summary;
  /** A closed summary from this process's cache or from the store, or an open part. */
  readonly source: 'cache' | 'store' | 'part';
  /** Of a part: when the oldest of its events was folded. */
  readonly foldedAtMs: number | null;
}

export interface PartitionRead {
  /** In the order of the shares wanted. */
  readonly shares: readonly (readonly StoredSummary[])[];
  readonly oldestWaitingMs: number | null;
  readonly missing: readonly string[];
}

export interface ReadTimes {
  indexMs: number;
  fetchMs: number;
  decodeMs: number;
}

/** What an index names: `tag` decides whether the bytes are the right ones. */
interface Named {
  readonly bucket: Bucket;
  readonly tag: Tag;
  /** Null for a closed summary. */
  readonly foldedAtMs: number | null;
}

const NO_BYTES = new Uint8Array();

interface Found extends Named, StoredSummary {}

type Fetch = (slice: readonly Named[]) => Promise<readonly (StoredColumn | null)[]>;

/** What goes on for one share: where to put what is found, and whether it was all there. */
interface Reading {
  readonly partition: number;
  readonly wanted: WantedShare;
  readonly found: StoredSummary[];
  readonly missing: Set<string>;
  readonly times: ReadTimes;
  /** Viewers that are not there now are damaged: nobody has come in between so often. */
  readonly isLastAttempt: boolean;
  isOvertaken: boolean;
}

export class PartitionReader {
  readonly #options: PartitionReaderOptions;
  readonly #cache: LRUCache<Tag, Summary>;

  constructor(options: PartitionReaderOptions) {
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
   * Null when the keys of all shares are broken. Rejects with StoreUnavailableError. Adds the time
   * it takes to `times`.
   */
  async read(
    partition: number,
    wanted: readonly WantedShare[],
    times: ReadTimes,
  ): Promise<PartitionRead | null> {
    const { store, clock } = this.#options;
    for (let attempt = 0; attempt < READ_ATTEMPTS_MAX; attempt += 1) {
      const startMs = clock.elapsedMs();
      const { shares: indexes, oldestWaitingMs } = await store.readIndex(partition, wanted);
      times.indexMs += clock.elapsedMs() - startMs;
      if (indexes.length > 0 && indexes.every((index) => index === null)) return null;
      const missing = new Set<string>();
      const isLastAttempt = attempt + 1 === READ_ATTEMPTS_MAX;
      const shared = { partition, missing, times, isLastAttempt };
      const readings = wanted.map((share): Reading => {
        return { ...shared, wanted: share, found: [], isOvertaken: false };
      });
      await Promise.all(
        readings.map((reading, at) => this.#readShare(reading, indexes[at] ?? null)),
      );
      if (readings.every(({ isOvertaken }) => !isOvertaken)) {
        const shares = readings.map(({ found }) => found);
        return { shares, oldestWaitingMs, missing: [...missing] };
      }
    }
    throw new StoreUnavailableError(`partition ${partition} changed during each attempt to read`);
  }

  async #readShare(reading: Reading, index: ShareIndex | null): Promise<void> {
    const { partition, wanted, found, missing } = reading;
    if (index === null) {
      missing.add(partitionName(partition));
      return;
    }
    const closed: Named[] = [];
    for (const [at, bucket] of wanted.buckets.entries()) {
      const tag = index.summaryTags[at] ?? null;
      if (tag === 'broken') missing.add(bucketNameIn(partition, bucket));
      else if (tag !== null) closed.push({ bucket, tag, foldedAtMs: null });
    }
    const open = index.parts.filter(({ bucket }) => {
      return wanted.spans.some((buckets) => liesIn(bucket, buckets));
    });
    const read = await Promise.all([
      this.#readClosed(reading, closed),
      this.#readOpen(reading, open),
    ]);
    found.push(...read.flat());
    for (const { bucket, summary } of found) {
      if (summary.incomplete) missing.add(bucketNameIn(partition, bucket));
    }
  }

  /** Viewers are read only of those that are wanted with them and are there without. */
  async #readClosed(reading: Reading, named: readonly Named[]): Promise<Found[]> {
    const { store, closedContext } = this.#options;
    const { partition, wanted, isLastAttempt } = reading;
    const column = (which: Column): Fetch => {
      return (slice) => store.readSummaries(partition, wanted.share, bucketsOf(slice), which);
    };
    const cached = this.#cached(named, 'cache');
    const read = await this.#inSlices(reading, without(named, cached), column('counts'), (blob) =>
      decodeSummary(blob, closedContext),
    );
    const all = [...cached, ...read];
    if (!wanted.viewers) return all;
    const whole = all.filter(({ summary }) => summary.viewersLoaded);
    const rest = without(all, whole);
    const summaries = new Map(rest.map(({ tag, summary }) => [tag, summary]));
    const fetch: Fetch = async (slice) => {
      const stored = await column('viewers')(slice);
      if (!isLastAttempt) return stored;
      return stored.map((each, at) => each ?? { tag: slice[at]!.tag, blob: NO_BYTES });
    };
    const completed = await this.#inSlices(reading, rest, fetch, (blob, tag) =>
      decodeViewers(summaries.get(tag)!, blob),
    );
    return [...whole, ...completed];
  }

  /** Parts are in one piece: viewers and all. */
  async #readOpen(reading: Reading, named: readonly Named[]): Promise<Found[]> {
    const { store, partContext } = this.#options;
    const { partition, wanted } = reading;
    const fetch: Fetch = async (slice) => {
      const tags = slice.map(({ tag }) => tag);
      const blobs = await store.readParts(partition, wanted.share, tags);
      return blobs.map((blob, at) => (blob === null ? null : { tag: tags[at]!, blob }));
    };
    const cached = this.#cached(named, 'part');
    const read = await this.#inSlices(reading, without(named, cached), fetch, (blob) =>
      decodeSummary(blob, partContext),
    );
    return [...cached, ...read];
  }

  #cached(named: readonly Named[], source: Found['source']): Found[] {
    return named.flatMap((each) => {
      const summary = this.#cache.get(each.tag);
      return summary === undefined ? [] : [{ ...each, summary, source }];
    });
  }

  /**
   * Reads a slice at a time, and asks for the next one before it uses what came: so the store works
   * while this process decodes.
   */
  async #inSlices(
    reading: Reading,
    named: readonly Named[],
    fetch: Fetch,
    decode: (blob: Uint8Array, tag: Tag) => Summary,
  ): Promise<Found[]> {
    const { clock } = this.#options;
    const { times } = reading;
    const found: Found[] = [];
    const fetchFrom = async (start: number): ReturnType<Fetch> =>
      start < named.length ? await fetch(named.slice(start, start + READ_SLICE)) : [];
    let coming = fetchFrom(0);
    for (let start = 0; start < named.length; start += READ_SLICE) {
      const askedMs = clock.elapsedMs();
      const fetched = await coming;
      const cameMs = clock.elapsedMs();
      coming = fetchFrom(start + READ_SLICE);
      for (const [at, each] of named.slice(start, start + READ_SLICE).entries()) {
        const summary = this.#use(reading, each, fetched[at] ?? null, decode);
        const source = each.foldedAtMs === null ? 'store' : 'part';
        if (summary !== null) found.push({ ...each, summary, source });
      }
      times.fetchMs += cameMs - askedMs;
      times.decodeMs += clock.elapsedMs() - cameMs;
    }
    return found;
  }

  /** Null when it was overtaken, or is damaged. */
  #use(
    reading: Reading,
    { bucket, tag }: Named,
    stored: StoredColumn | null,
    decode: (blob: Uint8Array, tag: Tag) => Summary,
  ): Summary | null {
    if (stored?.tag !== tag) {
      reading.isOvertaken = true;
      return null;
    }
    try {
      const summary = decode(stored.blob, tag);
      this.#cache.set(tag, summary);
      return summary;
    } catch (error) {
      if (!(error instanceof SketchDecodeError)) throw error;
      reading.missing.add(bucketNameIn(reading.partition, bucket));
      return null;
    }
  }
}

function bucketsOf(named: readonly Named[]): Bucket[] {
  return named.map(({ bucket }) => bucket);
}

function without<T extends Named>(named: readonly T[], others: readonly Named[]): T[] {
  const tags = new Set(others.map(({ tag }) => tag));
  return named.filter(({ tag }) => !tags.has(tag));
}

/** Picks the summaries of some buckets, and the parts whose time they cover. */
export function pickOf(buckets: readonly Bucket[]): (found: StoredSummary) => boolean {
  const keys = new Set(buckets.map(bucketKey));
  return ({ bucket, source }) =>
    source === 'part' ? liesIn(bucket, buckets) : keys.has(bucketKey(bucket));
}

export function partitionName(partition: number): string {
  return `partition ${partition}`;
}

/** `buckets` are without gaps, in the order of the calendar. */
function liesIn(bucket: Bucket, buckets: readonly Bucket[]): boolean {
  const [first] = buckets;
  const last = buckets.at(-1);
  if (first === undefined || last === undefined) return false;
  return bucket.startMs >= first.startMs && bucketEndMs(bucket) <= bucketEndMs(last);
}

function bucketNameIn(partition: number, bucket: Bucket): string {
  return `${partitionName(partition)} ${bucketName(bucket)}`;
}
