import type { Summary } from '../../src/sketches/summary.ts';
import { decodeSummary } from '../../src/sketches/summary-codec.ts';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { type Bucket, expiresAtMs, lastExpiryMs } from '../../src/streams/buckets.ts';
import type { CompactionCommit } from '../../src/streams/store-port.ts';
import { type Pipeline, RETENTION } from './pipeline.ts';

/** The bucket's summary in the stream `default` of the first partition. */
export async function summaryAt(pipeline: Pipeline, bucket: Bucket): Promise<Summary | null> {
  const [stored] = await pipeline.memory.readSummaries(0, 'default', [bucket], 'counts');
  return stored === null || stored === undefined
    ? null
    : decodeSummary(stored.blob, pipeline.closedContext);
}

export function countsOf(summary: Summary | null): Record<string, number> {
  const counts: Record<string, number> = {};
  summary?.listed.forEach((item, upper) => {
    counts[item] = upper;
  });
  return counts;
}

export async function foldOne(pipeline: Pipeline, item: string): Promise<void> {
  await pipeline.send([{ item }]);
  await pipeline.foldAll();
}

/** Makes these bytes a part of the bucket. */
export async function foldRawPart(
  pipeline: Pipeline,
  bucket: Bucket,
  blob: Uint8Array,
): Promise<void> {
  const nowMs = pipeline.clock.nowMs();
  const part = { tag: pipeline.tags(), bucket, bytes: blob.length, foldedAtMs: nowMs, blob };
  const { generation } = await readShareIndex(pipeline.memory, 0, 'default', []);
  const times = { compactAtMs: nowMs, keptUntilMs: lastExpiryMs(nowMs, RETENTION) };
  await pipeline.memory.commitFold(0, {
    entries: [],
    shares: [{ share: 'default', generation, parts: [part], isListed: true, ...times }],
    aside: [],
  });
}

/** Puts these bytes in the place of the bucket's summary. */
export async function putRawSummary(
  pipeline: Pipeline,
  bucket: Bucket,
  blob: Uint8Array,
): Promise<void> {
  const index = await readShareIndex(pipeline.memory, 0, 'default', [bucket]);
  await pipeline.memory.commitCompaction(0, {
    share: 'default',
    generation: index.generation,
    removeParts: [],
    lostParts: [],
    addParts: [],
    summaries: [
      {
        bucket,
        expectedTag: index.summaryTags[0] ?? null,
        tag: pipeline.tags(),
        counts: blob,
        viewers: null,
        expiresAtMs: expiresAtMs(bucket, RETENTION),
      },
    ],
    aside: [],
    remainingParts: index.parts.length,
    compactAtMs: pipeline.clock.nowMs(),
  });
}

export function dueAt(pipeline: Pipeline, timeMs: number): Promise<string[]> {
  return pipeline.memory.readDueShares(0, timeMs, 10);
}

export function commitsOf(pipeline: Pipeline): CompactionCommit[] {
  return pipeline.watched
    .callsOf('commitCompaction')
    .map(({ args }) => args[1] as CompactionCommit);
}

export function bucketsWritten(pipeline: Pipeline): Bucket[] {
  return commitsOf(pipeline).flatMap(({ summaries }) => summaries.map(({ bucket }) => bucket));
}
