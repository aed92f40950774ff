import { ManualClock } from '../../src/lib/clock.ts';
import { Prng } from '../../src/lib/prng.ts';
import { seededTags } from '../../src/lib/random-tag.ts';
import { CLOSED_SHAPE } from '../../src/sketches/summary.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { REGISTRY_SETTLE_MS } from '../../src/streams/limits.ts';
import { StreamRegistry } from '../../src/streams/registry.ts';
import type { DocumentStore } from '../../src/lib/document-store.ts';
import { defaultSettings } from '../../src/streams/settings.ts';
import type { NewValues } from '../../src/streams/stream-document.ts';

export const START_MS = Date.UTC(2026, 10, 30, 12, 34, 56, 789);
export const MAX_FUTURE_MS = MINUTE_MS;
/** What `sinceMs` says of a change that is made at START_MS. */
export const SETTLED_MS = START_MS + REGISTRY_SETTLE_MS + MAX_FUTURE_MS;
export const RETENTION = { minute: 25 * HOUR_MS, hour: 32 * DAY_MS, day: 400 * DAY_MS };

type Method = keyof DocumentStore;

/** A registry store that counts its calls, and whose calls can be delayed, refused or answered. */
export class WatchedRegistryStore implements DocumentStore {
  readonly calls: Method[] = [];
  around: <T>(method: Method, call: () => Promise<T>) => Promise<T> = (_, call) => call();
  /** Replaced to make the store go back to an older state. */
  inner: DocumentStore;

  constructor(inner: DocumentStore) {
    this.inner = inner;
  }

  readonly readRevision: DocumentStore['readRevision'] = () =>
    this.#watch('readRevision', () => this.inner.readRevision());
  readonly readTags: DocumentStore['readTags'] = () =>
    this.#watch('readTags', () => this.inner.readTags());
  readonly readDocuments: DocumentStore['readDocuments'] = (streams) =>
    this.#watch('readDocuments', () => this.inner.readDocuments(streams));
  readonly readDurableDocuments: DocumentStore['readDurableDocuments'] = (names) =>
    this.inner.readDurableDocuments(names);
  readonly putDocuments: DocumentStore['putDocuments'] = (puts, max) =>
    this.#watch('putDocuments', () => this.inner.putDocuments(puts, max));

  #watch<T>(method: Method, call: () => Promise<T>): Promise<T> {
    this.calls.push(method);
    return this.around(method, call);
  }
}

/** Registries of several processes on one store, on a clock that stands still. */
export class RegistrySetup {
  readonly clock = new ManualClock(START_MS);
  readonly tags = seededTags(new Prng(7));
  readonly memory = new MemoryDocumentStore(this.tags);
  /** Shares that were dropped, in order. */
  readonly dropped: string[] = [];
  /** In place of what drops shares. */
  onDrop: (shares: readonly string[]) => Promise<void> = async () => {};
  readonly #maxStreams: number;

  constructor(maxStreams = 100) {
    this.#maxStreams = maxStreams;
  }

  start(store: DocumentStore = this.memory): StreamRegistry {
    return new StreamRegistry({
      store,
      clock: this.clock,
      tags: this.tags,
      defaults: {
        settings: defaultSettings(RETENTION, CLOSED_SHAPE),
        closedShape: CLOSED_SHAPE,
      },
      maxStreams: this.#maxStreams,
      maxFutureMs: MAX_FUTURE_MS,
      dropShares: async (shares) => {
        await this.onDrop(shares);
        this.dropped.push(...shares);
      },
    });
  }
}

export function valuesOf(dimension: string, ...values: readonly string[]): NewValues {
  return new Map([[dimension, new Set(values)]]);
}

/** The first event of a stream, without dimensions. */
export async function admitStream(registry: StreamRegistry, stream: string): Promise<boolean> {
  await registry.of(stream);
  return !(await registry.admit(new Map([[stream, new Map()]]))).has(stream);
}
