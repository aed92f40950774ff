/** The streams room, wired: what a process needs to take events in, fold them, and answer. */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import type { KeyedHash } from '../sketches/hash.ts';
import { CLOSED_SHAPE, PART_SHAPE, type SummaryShape } from '../sketches/summary.ts';
import type { Retention } from './buckets.ts';
import { Compactor } from './compact.ts';
import { Folder } from './fold.ts';
import { dropShares } from './drop-shares.ts';
import { EventIngest } from './ingest.ts';
import { StreamQueries } from './queries.ts';
import { StreamReader } from './reader.ts';
import { StreamRegistry } from './registry.ts';
import type { DocumentStore } from '../lib/document-store.ts';
import { RegistryUpkeep } from './registry-upkeep.ts';
import { defaultSettings } from './settings.ts';
import type { StreamStore } from './store-port.ts';

export interface StreamsRoomOptions {
  readonly store: StreamStore;
  readonly registryStore: DocumentStore;
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly hash: KeyedHash;
  /** Of streams that nothing else is set for, and the longest that any may have. */
  readonly retention: Retention;
  /** Streams that may have events or settings. */
  readonly maxStreams: number;
  /** Events further in the future than this are rejected. */
  readonly maxFutureMs: number;
  /** Decoded summaries are kept up to about so many bytes. */
  readonly cacheBytes: number;
  readonly closedShape?: SummaryShape;
  readonly partShape?: SummaryShape;
}

export interface StreamsRoom {
  readonly ingest: EventIngest;
  readonly queries: StreamQueries;
  readonly reader: StreamReader;
  readonly folder: Folder;
  readonly compactor: Compactor;
  readonly registry: StreamRegistry;
  readonly upkeep: RegistryUpkeep;
}

export function openStreamsRoom(options: StreamsRoomOptions): StreamsRoom {
  const { store, clock, tags, hash, retention, maxFutureMs, cacheBytes } = options;
  const closedContext = { hash, shape: options.closedShape ?? CLOSED_SHAPE };
  const partContext = { hash, shape: options.partShape ?? PART_SHAPE };
  const shared = { store, clock, tags, retention };
  const registry = new StreamRegistry({
    store: options.registryStore,
    clock,
    tags,
    defaults: {
      settings: defaultSettings(retention, closedContext.shape),
      closedShape: closedContext.shape,
    },
    maxStreams: options.maxStreams,
    maxFutureMs,
    dropShares: (shares) => dropShares(shared, shares),
  });
  const reader = new StreamReader({ store, clock, closedContext, partContext, cacheBytes });
  const compactor = new Compactor({ ...shared, registry, partContext });
  return {
    ingest: new EventIngest({ ...shared, registry, context: partContext, maxFutureMs }),
    queries: new StreamQueries({ ...shared, registry, reader, hash }),
    reader,
    folder: new Folder({ ...shared, compactor, registry, partContext }),
    compactor,
    registry,
    upkeep: new RegistryUpkeep(store, registry),
  };
}
