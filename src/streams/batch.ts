/**
 * A batch: accepted events, already summed up into one exact summary for each share and bucket.
 *
 * Bytes (format version 1; several batches may stand one after the other in a log entry):
 *
 *   2 bytes magic "TB", 1 byte version, 4 bytes CRC-32 of the groups, 4 bytes length of the groups
 *   (little-endian), then the groups to the end: text share, 1 byte level (index in LEVELS),
 *   varint start in minutes, 4 bytes length, summary (summary-codec.ts)
 *
 * The checksum is there for share and bucket: damaged, they would be counted in a wrong place.
 */
import { crc32 } from 'node:zlib';
import { ByteReadError, ByteReader, ByteWriter } from '../lib/bytes.ts';
import { SketchDecodeError } from '../sketches/sketch-decode-error.ts';
import { Summary, type SummaryContext } from '../sketches/summary.ts';
import { decodeSummary, encodeSummaryUnordered } from '../sketches/summary-codec.ts';
import { type Bucket, bucketKey, LEVELS, MINUTE_MS } from './buckets.ts';

const MAGIC_T = 0x54;
const MAGIC_B = 0x42;
const VERSION = 1;
const CRC_OFFSET = 3;
const LENGTH_OFFSET = 7;
const GROUPS_OFFSET = 11;

/** What the batch holds of one share and bucket. */
export interface BatchGroup {
  readonly share: string;
  readonly bucket: Bucket;
  readonly summary: Summary;
}

/** Sums events up, one at a time. */
export class BatchBuilder {
  readonly #context: SummaryContext;
  /** By bucket, then by share: an event's shares are all of one bucket. */
  readonly #buckets = new Map<string, Map<string, BatchGroup>>();
  #last: BatchGroup | null = null;
  #lastShares = new Map<string, BatchGroup>();
  #eventCount = 0;

  /** `context.shape` must be wide enough to stay exact for all that is added. */
  constructor(context: SummaryContext) {
    this.#context = context;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  get groups(): Iterable<BatchGroup> {
    return [...this.#buckets.values()].flatMap((shares) => [...shares.values()]);
  }

  /** Adds one event to its whole stream; `actor` is the actor's keyed hash. */
  add(
    share: string,
    bucket: Bucket,
    item: string,
    count: number,
    actor: { readonly lo: number; readonly hi: number } | null,
  ): void {
    this.addToSegment(share, bucket, item, count, actor);
    this.#eventCount += 1;
  }

  /** Adds an event that was added to its whole stream to one of its segments too. */
  addToSegment(
    share: string,
    bucket: Bucket,
    item: string,
    count: number,
    actor: { readonly lo: number; readonly hi: number } | null,
  ): void {
    this.#groupOf(share, bucket).summary.add(item, count, actor);
  }

  /** Adds all that the other has summed up; the other must not be used any more. */
  merge(other: BatchBuilder): void {
    for (const { share, bucket, summary } of other.groups) {
      this.#groupOf(share, bucket).summary.merge(summary);
    }
    this.#eventCount += other.eventCount;
  }

  encode(): Uint8Array {
    return encodeBatch(this.groups);
  }

  /** Most events are of the stream and minute of the one before, or of its minute at least. */
  #groupOf(share: string, bucket: Bucket): BatchGroup {
    const last = this.#last;
    if (last?.bucket.startMs === bucket.startMs && last.bucket.level === bucket.level) {
      if (last.share === share) return last;
    } else {
      const key = bucketKey(bucket);
      this.#lastShares = this.#buckets.get(key) ?? new Map<string, BatchGroup>();
      this.#buckets.set(key, this.#lastShares);
    }
    let group = this.#lastShares.get(share);
    if (group === undefined) {
      group = { share, bucket, summary: new Summary(this.#context) };
      this.#lastShares.set(share, group);
    }
    this.#last = group;
    return group;
  }
}

export function encodeBatch(groups: Iterable<BatchGroup>): Uint8Array {
  const writer = new ByteWriter();
  writer.uint8(MAGIC_T);
  writer.uint8(MAGIC_B);
  writer.uint8(VERSION);
  writer.uint32(0);
  writer.uint32(0);
  for (const { share, bucket, summary } of groups) {
    writer.text(share);
    writer.uint8(LEVELS.indexOf(bucket.level));
    writer.varint(bucket.startMs / MINUTE_MS);
    const bytes = encodeSummaryUnordered(summary);
    writer.uint32(bytes.length);
    writer.raw(bytes);
  }
  writer.patchUint32(CRC_OFFSET, crc32(writer.view(GROUPS_OFFSET)));
  writer.patchUint32(LENGTH_OFFSET, writer.length - GROUPS_OFFSET);
  return writer.finish();
}

/** Reads the batches of a log entry, at least one; throws only SketchDecodeError. */
export function decodeBatches(bytes: Uint8Array, context: SummaryContext): BatchGroup[] {
  try {
    const reader = new ByteReader(bytes);
    const groups: BatchGroup[] = [];
    do {
      readBatch(reader, context, groups);
    } while (reader.remaining > 0);
    return groups;
  } catch (error) {
    if (error instanceof ByteReadError) throw new SketchDecodeError(`batch: ${error.message}`);
    throw error;
  }
}

function readBatch(reader: ByteReader, context: SummaryContext, groups: BatchGroup[]): void {
  if (reader.uint8() !== MAGIC_T || reader.uint8() !== MAGIC_B) {
    throw new SketchDecodeError('batch: not the bytes of a batch');
  }
  const version = reader.uint8();
  if (version !== VERSION) {
    throw new SketchDecodeError(`batch: format version ${version} is not known`);
  }
  const crc = reader.uint32();
  const bytes = reader.raw(reader.uint32());
  if (crc32(bytes) !== crc) throw new SketchDecodeError('batch: the checksum does not fit');
  const body = new ByteReader(bytes);
  while (body.remaining > 0) {
    const share = body.text();
    const level = LEVELS[body.uint8()];
    if (level === undefined) throw new SketchDecodeError('batch: the level is not known');
    const startMs = body.varint() * MINUTE_MS;
    const summary = decodeSummary(body.raw(body.uint32()), context);
    groups.push({ share, bucket: { level, startMs }, summary });
  }
}
