import { ManualClock } from '../../src/lib/clock.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { CLOSED_SHAPE, PART_SHAPE, type SummaryShape } from '../../src/sketches/summary.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import {
  type MemoryStoreOptions,
  MemoryStreamStore,
} from '../../src/store/memory/memory-stream-store.ts';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, type Retention } from '../../src/streams/buckets.ts';
import type { Compactor } from '../../src/streams/compact.ts';
import type { Folder } from '../../src/streams/fold.ts';
import type { AcceptedBatch, EventIngest, EventInput } from '../../src/streams/ingest.ts';
import type { RejectedEvent } from '../../src/streams/ingest-errors.ts';
import type { StreamQueries } from '../../src/streams/queries.ts';
import type { StreamReader } from '../../src/streams/reader.ts';
import type { StreamRegistry } from '../../src/streams/registry.ts';
import type { RegistryUpkeep } from '../../src/streams/registry-upkeep.ts';
import type { PartRef } from '../../src/streams/store-port.ts';
import { openStreamsRoom } from '../../src/streams/streams-room.ts';
import { WatchedStore } from './watched-store.ts';

export const START_MS = Date.UTC(2026, 10, 30, 12, 34, 56, 789);
export const RETENTION: Retention = {
  minute: 25 * HOUR_MS,
  hour: 32 * DAY_MS,
  day: 400 * DAY_MS,
};
/** More than a late part waits, and than a bucket takes to count as closed. */
const COMPACTION_WAIT_MS = 2 * MINUTE_MS;

export interface PipelineOptions {
  readonly partitionCount?: number;
  readonly startMs?: number;
  readonly closedShape?: SummaryShape;
  readonly partShape?: SummaryShape;
  readonly cacheBytes?: number;
  readonly maxStreams?: number;
  readonly store?: Partial<MemoryStoreOptions>;
}

export interface SendOptions {
  /** Hex digits that stand for a client's key. */
  readonly key?: string;
  readonly fingerprint?: string;
  readonly rejected?: readonly RejectedEvent[];
  readonly strict?: boolean;
}

/** The parts of the streams room, wired as in the server, on a clock that stands still. */
export class Pipeline {
  readonly clock: ManualClock;
  readonly memory: InspectableStore;
  readonly watched: WatchedStore;
  readonly hash = new KeyedHash({ k0: 0x01234567, k1: 0x89abcdef });
  readonly tags = seededTags(new Prng(7));
  readonly registryStore = new MemoryDocumentStore(this.tags);
  readonly partContext;
  readonly closedContext;
  readonly ingest: EventIngest;
  readonly compactor: Compactor;
  readonly folder: Folder;
  readonly reader: StreamReader;
  readonly queries: StreamQueries;
  readonly registry: StreamRegistry;
  readonly upkeep: RegistryUpkeep;

  constructor(options: PipelineOptions = {}) {
    const { tags, hash } = this;
    const { closedShape = CLOSED_SHAPE, partShape = PART_SHAPE, cacheBytes = 2 ** 24 } = options;
    const clock = new ManualClock(options.startMs ?? START_MS);
    this.clock = clock;
    this.memory = new InspectableStore({
      partitionCount: options.partitionCount ?? 1,
      clock,
      tags,
      maxBacklogBytes: 64 * 2 ** 20,
      maxBacklogEntries: 10_000,
      clientIdTtlMs: DAY_MS,
      serverIdTtlMs: 10 * MINUTE_MS,
      maxRememberedIds: 10_000,
      ...options.store,
    });
    this.watched = new WatchedStore(this.memory);
    this.partContext = { hash, shape: partShape };
    this.closedContext = { hash, shape: closedShape };
    const room = openStreamsRoom({
      store: this.watched.port,
      registryStore: this.registryStore,
      clock,
      tags,
      hash,
      retention: RETENTION,
      maxFutureMs: MINUTE_MS,
      maxStreams: options.maxStreams ?? 1_000,
      cacheBytes,
      closedShape,
      partShape,
    });
    this.ingest = room.ingest;
    this.compactor = room.compactor;
    this.folder = room.folder;
    this.reader = room.reader;
    this.queries = room.queries;
    this.registry = room.registry;
    this.upkeep = room.upkeep;
  }

  /** Sends one batch; what an event leaves out is filled in. */
  send(events: readonly Partial<EventInput>[], options: SendOptions = {}): Promise<AcceptedBatch> {
    const { key, fingerprint = 'f', rejected = [], strict = false } = options;
    return this.ingest.accept({
      events: events.map((event, index) => eventOf({ index, ...event })),
      rejected,
      idempotency: key === undefined ? null : { id: key.padStart(64, '0'), fingerprint },
      strict,
    });
  }

  /** Sends events in a batch each, one after the other: a log entry each. */
  async sendEach(events: readonly Partial<EventInput>[]): Promise<void> {
    for (const event of events) await this.send([event]);
  }

  /** Folds whatever waits. */
  async foldAll(): Promise<void> {
    for (let partition = 0; partition < this.memory.partitionCount; partition += 1) {
      while ((await this.folder.foldPartition(partition)).more);
    }
  }

  /** One visit of the compaction in every partition. */
  async compactDue(): Promise<void> {
    for (let partition = 0; partition < this.memory.partitionCount; partition += 1) {
      await this.compactor.compactPartition(partition);
    }
  }

  /** Folds, lets pass what parts of closed buckets wait, and compacts them. */
  async compactAll(): Promise<void> {
    await this.foldAll();
    await this.clock.advance(COMPACTION_WAIT_MS);
    await this.compactDue();
  }

  async openParts(stream = 'default', partition = 0): Promise<readonly PartRef[]> {
    return (await readShareIndex(this.memory, partition, stream, [])).parts;
  }
}

export function eventOf(event: Partial<EventInput>): EventInput {
  return {
    index: 0,
    stream: 'default',
    item: 'a',
    actor: null,
    count: 1,
    atMs: null,
    dims: null,
    ...event,
  };
}

/** The memory store with a look at all that it holds. */
class InspectableStore extends MemoryStreamStore {
  /** Every text and every byte that is kept anywhere, one after the other. */
  everythingStored(): string {
    const pieces: string[] = [];
    collect(this.partitions, pieces);
    return pieces.join('\n');
  }
}

function collect(value: unknown, pieces: string[]): void {
  if (value instanceof Uint8Array) pieces.push(Buffer.from(value).toString('latin1'));
  else if (value instanceof Map) for (const entry of value) collect(entry, pieces);
  else if (Array.isArray(value)) for (const element of value) collect(element, pieces);
  else if (typeof value === 'object' && value !== null) collect(Object.entries(value), pieces);
  else pieces.push(String(value));
}
