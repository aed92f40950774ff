/**
 * Takes events in: puts each into its bucket, sums them up for every share it counts in, and
 * appends the batch to the log of one partition with an id that makes a repetition harmless. When
 * `accept` resolves, the events are in the store.
 */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import { BrokenStreamError } from '../lib/store-errors.ts';
import type { SummaryContext } from '../sketches/summary.ts';
import { Appender } from './appender.ts';
import { BatchBuilder } from './batch.ts';
import { type Bucket, bucketOf, finestKept, type Retention } from './buckets.ts';
import {
  IngestRefusedError,
  type RejectedEvent,
  type Rejection,
  StrictRefusedError,
} from './ingest-errors.ts';
import { REJECTED_LISTED_MAX } from './limits.ts';
import type { StreamProfile, StreamRegistry } from './registry.ts';
import { OTHER_VALUE } from './settings.ts';
import { shareKeyOf } from './shares.ts';
import type { StreamStore } from './store-port.ts';
import type { ProfileDimension } from './stream-profile.ts';

/** An event whose fields are valid; where it stands in the request is its `index`. */
export interface EventInput {
  readonly index: number;
  readonly stream: string;
  readonly item: string;
  readonly actor: string | null;
  readonly count: number;
  /** Null: the time of arrival. */
  readonly atMs: number | null;
  /** Values by dimension; those that its stream does not keep are ignored. */
  readonly dims: Readonly<Record<string, string>> | null;
}

export interface EventBatch {
  readonly events: readonly EventInput[];
  /** Events of the request that were refused before: part of the answer to a retry. */
  readonly rejected: readonly RejectedEvent[];
  /** `id`: 64 hex digits that stand for the client's key; `fingerprint`: SHA-256 of the body. */
  readonly idempotency: { readonly id: string; readonly fingerprint: string } | null;
  /** Accept all events or none. */
  readonly strict: boolean;
}

export interface AcceptedBatch extends Rejection {
  readonly accepted: number;
  /** Events that an earlier request with the same key had brought in. */
  readonly duplicate: number;
}

export interface IngestOptions {
  readonly store: StreamStore;
  readonly registry: StreamRegistry;
  readonly clock: Clock;
  readonly tags: TagSource;
  /** With PART_SHAPE: a batch is always exact. */
  readonly context: SummaryContext;
  /** Events further in the future than this are rejected. */
  readonly maxFutureMs: number;
}

export class EventIngest {
  readonly #options: IngestOptions;
  readonly #appenders: readonly Appender[];
  readonly #underWay = new Set<Promise<unknown>>();
  #nextPartition = 0;

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#appenders = Array.from(
      { length: options.store.partitionCount },
      (_, partition) => new Appender({ ...options, partition }),
    );
  }

  /**
   * Rejects with IngestRefusedError, StrictRefusedError, StoreUnavailableError (nothing applied) or
   * OutcomeUnknownError (the same batch with its key may be sent again).
   */
  async accept(batch: EventBatch): Promise<AcceptedBatch> {
    const acceptance = this.#accept(batch);
    this.#underWay.add(acceptance);
    try {
      return await acceptance;
    } finally {
      this.#underWay.delete(acceptance);
    }
  }

  /** Resolves when no batch is under way any more. */
  async drain(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async #accept(batch: EventBatch): Promise<AcceptedBatch> {
    const admission = this.#admit(batch.events);
    const refused = admission instanceof Promise ? await admission : admission;
    const builder = new BatchBuilder(this.#options.context);
    const rejected = [...batch.rejected];
    this.#sortIntoBuckets(batch.events, refused, builder, rejected);
    const rejection = {
      rejectedCount: rejected.length,
      rejected: rejected.slice(0, REJECTED_LISTED_MAX),
    };
    if (batch.strict && rejected.length > 0) throw new StrictRefusedError(rejection);
    const accepted = builder.eventCount;
    if (batch.idempotency === null) {
      if (accepted > 0) await this.#anyAppender().appendShared(builder);
      return { accepted, duplicate: 0, ...rejection };
    }
    const { id, fingerprint } = batch.idempotency;
    const answer: RememberedAnswer = { accepted, ...rejection };
    const outcome = await this.#appenderOf(id).appendKeyed({
      idSource: 'client',
      id,
      fingerprint,
      attempt: this.#options.tags(),
      answer: JSON.stringify(answer),
      blob: accepted > 0 ? builder.encode() : new Uint8Array(),
    });
    if (outcome.kind === 'applied') return { accepted, duplicate: 0, ...rejection };
    if (outcome.kind !== 'duplicate') throw new IngestRefusedError(outcome.kind);
    const first = JSON.parse(outcome.answer) as RememberedAnswer;
    return { ...first, accepted: 0, duplicate: first.accepted };
  }

  /**
   * Makes streams and values known that are new, and gives the streams there is no room for. At
   * once when all are known: most batches wait for nothing but their append.
   */
  #admit(events: readonly EventInput[]): ReadonlySet<string> | Promise<ReadonlySet<string>> {
    const { registry } = this.#options;
    const refreshed = registry.refreshed();
    if (refreshed !== null) return refreshed.then(() => this.#admitKnown(events));
    return this.#admitKnown(events);
  }

  #admitKnown(events: readonly EventInput[]): ReadonlySet<string> | Promise<ReadonlySet<string>> {
    const { registry, clock, maxFutureMs } = this.#options;
    const wanted = wantedOf(events, registry, clock.nowMs(), maxFutureMs);
    return wanted === null ? NO_STREAMS : registry.admit(wanted);
  }

  #sortIntoBuckets(
    events: readonly EventInput[],
    refused: ReadonlySet<string>,
    builder: BatchBuilder,
    rejected: RejectedEvent[],
  ): void {
    const { clock, context, registry, maxFutureMs } = this.#options;
    const nowMs = clock.nowMs();
    const { hash } = context;
    let place: Place | null = null;
    for (const { index, stream, item, actor, count, atMs, dims } of events) {
      if (place?.stream !== stream) place = placeOf(stream, registry, nowMs, refused);
      if (place.rejection !== null) {
        rejected.push({ index, code: place.rejection });
        continue;
      }
      const { retention, arrival } = place;
      const bucket = atMs === null ? arrival : bucketFor(atMs, nowMs, maxFutureMs, retention);
      if (bucket === null) {
        rejected.push({ index, code: (atMs ?? nowMs) > nowMs ? 'too_new' : 'too_old' });
        continue;
      }
      let actorHash: { lo: number; hi: number } | null = null;
      if (actor !== null) {
        hash.hashString(actor);
        actorHash = { lo: hash.lo, hi: hash.hi };
      }
      builder.add(place.share, bucket, item, count, actorHash);
      if (dims === null) continue;
      for (const dimension of place.dimensions) {
        const value = valueOf(dims, dimension);
        if (value === null) continue;
        const share = dimension.shares.get(value) ?? dimension.otherShare;
        builder.addToSegment(share, bucket, item, count, actorHash);
      }
    }
    rejected.sort((a, b) => a.index - b.index);
  }

  /** The id picks the partition, so that a retry finds it on whichever server it arrives. */
  #appenderOf(id: string): Appender {
    const head = Number.parseInt(id.slice(0, 8), 16);
    return this.#appenders[head % this.#appenders.length]!;
  }

  #anyAppender(): Appender {
    this.#nextPartition = (this.#nextPartition + 1) % this.#appenders.length;
    return this.#appenders[this.#nextPartition]!;
  }
}

interface RememberedAnswer extends Rejection {
  readonly accepted: number;
}

/** Where the events of one stream go, or why none of them is taken. */
type Place =
  | { readonly stream: string; readonly rejection: string }
  | {
      readonly stream: string;
      readonly rejection: null;
      readonly share: string;
      readonly dimensions: readonly ProfileDimension[];
      readonly retention: Retention;
      /** The bucket of those that arrive now. */
      readonly arrival: Bucket | null;
    };

const NO_STREAMS: ReadonlySet<string> = new Set();
const NO_VALUES: readonly [string, string][] = [];

/** Streams, and values of their dimensions, that are not known yet; null when all are. */
function wantedOf(
  events: readonly EventInput[],
  registry: StreamRegistry,
  nowMs: number,
  maxFutureMs: number,
): Map<string, Map<string, Set<string>>> | null {
  let wanted: Map<string, Map<string, Set<string>>> | null = null;
  let lastStream: string | null = null;
  let profile: StreamProfile | null = null;
  for (const { stream, atMs, dims } of events) {
    if (stream !== lastStream) {
      lastStream = stream;
      profile = profileOf(registry, stream);
    }
    if (profile === null || (profile.hasEvents && dims === null)) continue;
    const newValues = dims === null ? NO_VALUES : newValuesOf(dims, profile.dimensions);
    if (profile.hasEvents && newValues.length === 0) continue;
    const { retention } = profile.settings;
    // An event that is not taken makes nothing known.
    if (bucketFor(atMs ?? nowMs, nowMs, maxFutureMs, retention) === null) continue;
    wanted ??= new Map<string, Map<string, Set<string>>>();
    const byDimension = wanted.get(stream) ?? new Map<string, Set<string>>();
    wanted.set(stream, byDimension);
    for (const [dimension, value] of newValues) {
      byDimension.set(dimension, (byDimension.get(dimension) ?? new Set<string>()).add(value));
    }
  }
  return wanted;
}

/** Without a new list in the usual case, that all are known. */
function newValuesOf(
  dims: NonNullable<EventInput['dims']>,
  dimensions: readonly ProfileDimension[],
): readonly [string, string][] {
  let found: [string, string][] | null = null;
  for (const dimension of dimensions) {
    if (!dimension.hasRoom) continue;
    const value = valueOf(dims, dimension);
    if (value === null || value === OTHER_VALUE || dimension.shares.has(value)) continue;
    found ??= [];
    found.push([dimension.name, value]);
  }
  return found ?? NO_VALUES;
}

function placeOf(
  stream: string,
  registry: StreamRegistry,
  nowMs: number,
  refused: ReadonlySet<string>,
): Place {
  if (refused.has(stream)) return { stream, rejection: 'too_many_streams' };
  const profile = profileOf(registry, stream);
  if (profile === null) return { stream, rejection: 'stream_damaged' };
  const { dimensions, settings } = profile;
  const { retention } = settings;
  return {
    stream,
    rejection: null,
    share: shareKeyOf(stream, null),
    dimensions,
    retention,
    arrival: bucketFor(nowMs, nowMs, 0, retention),
  };
}

/** Null when what is set for the stream cannot be read. */
function profileOf(registry: StreamRegistry, stream: string): StreamProfile | null {
  try {
    return registry.known(stream);
  } catch (error) {
    if (error instanceof BrokenStreamError) return null;
    throw error;
  }
}

function valueOf(dims: NonNullable<EventInput['dims']>, { name }: ProfileDimension): string | null {
  return Object.hasOwn(dims, name) ? (dims[name] ?? null) : null;
}

/** The bucket of the finest level that keeps this time; null when none does, or not yet. */
function bucketFor(
  timeMs: number,
  nowMs: number,
  maxFutureMs: number,
  retention: Retention,
): Bucket | null {
  if (timeMs > nowMs + maxFutureMs) return null;
  const level = finestKept(timeMs, nowMs, retention);
  return level === null ? null : bucketOf(level, timeMs);
}
