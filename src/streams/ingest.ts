/**
 * Takes events in: puts each into its bucket, sums them up, and appends the batch to the log of one
 * partition with an id that makes a repetition harmless. When `accept` resolves, the events are in
 * the store.
 */
import type { Clock } from '../lib/clock.ts';
import type { TagSource } from '../lib/random-tag.ts';
import type { SummaryContext } from '../sketches/summary.ts';
import { Appender } from './appender.ts';
import { BatchBuilder } from './batch.ts';
import { type Bucket, bucketOf, isKept, LEVELS, type Retention } from './buckets.ts';
import {
  IngestRefusedError,
  type RejectedEvent,
  type Rejection,
  StrictRefusedError,
} from './ingest-errors.ts';
import { REJECTED_LISTED_MAX } from './limits.ts';
import type { StreamStore } from './store-port.ts';

/** An event whose fields are valid; where it stands in the request is its `index`. */
export interface EventInput {
  readonly index: number;
  readonly stream: string;
  readonly item: string;
  readonly actor: string | null;
  readonly count: number;
  /** Null: the time of arrival. */
  readonly atMs: number | null;
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
  readonly clock: Clock;
  readonly tags: TagSource;
  /** With PART_SHAPE: a batch is always exact. */
  readonly context: SummaryContext;
  readonly retention: Retention;
  /** Events further in the future than this are rejected. */
  readonly maxFutureMs: number;
}

export class EventIngest {
  readonly #options: IngestOptions;
  readonly #appenders: readonly Appender[];
  #nextPartition = 0;

  constructor(options: IngestOptions) {
    this.#options = options;
    this.#appenders = Array.from(
      { length: options.store.partitionCount },
      (_, partition) => new Appender({ ...options, partition }),
    );
  }

  /**
   * Throws IngestRefusedError, StrictRefusedError, StoreUnavailableError (nothing applied), or
   * OutcomeUnknownError (the same batch with its key may be sent again).
   */
  async accept(batch: EventBatch): Promise<AcceptedBatch> {
    const builder = new BatchBuilder(this.#options.context);
    const rejected = [...batch.rejected];
    this.#sortIntoBuckets(batch.events, builder, rejected);
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

  /** Resolves when nothing waits to be appended any more. */
  async drain(): Promise<void> {
    await Promise.all(this.#appenders.map((appender) => appender.drain()));
  }

  #sortIntoBuckets(
    events: readonly EventInput[],
    builder: BatchBuilder,
    rejected: RejectedEvent[],
  ): void {
    const { clock, context, retention, maxFutureMs } = this.#options;
    const nowMs = clock.nowMs();
    const { hash } = context;
    const bucketAt = (timeMs: number): Bucket | null =>
      timeMs > nowMs + maxFutureMs ? null : finestKept(timeMs, nowMs, retention);
    const bucketOfArrival = bucketAt(nowMs);
    for (const { index, stream, item, actor, count, atMs } of events) {
      const bucket = atMs === null ? bucketOfArrival : bucketAt(atMs);
      if (bucket === null) {
        rejected.push({ index, code: (atMs ?? nowMs) > nowMs ? 'too_new' : 'too_old' });
      } else if (actor === null) {
        builder.add(stream, bucket, item, count, null);
      } else {
        hash.hashString(actor);
        builder.add(stream, bucket, item, count, { lo: hash.lo, hi: hash.hi });
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

/** The bucket of the finest level that still keeps this time; null when none does. */
function finestKept(timeMs: number, nowMs: number, retention: Retention): Bucket | null {
  for (const level of LEVELS) {
    const bucket = bucketOf(level, timeMs);
    if (isKept(bucket, nowMs, retention)) return bucket;
  }
  return null;
}
