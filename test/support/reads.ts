import { type Bucket, HOUR_MS } from '../../src/streams/buckets.ts';
import type { BucketSummary, ReadResult } from '../../src/streams/reader.ts';
import { coverSpan, type WindowRequest, spanOf } from '../../src/streams/window.ts';
import { type Pipeline, RETENTION } from './pipeline.ts';

const LAST_HOUR: WindowRequest = { kind: 'trailing', lengthMs: HOUR_MS, untilMs: null };

export function totalOf(summaries: readonly BucketSummary[]): number {
  return summaries.reduce((sum, { summary }) => sum + summary.total, 0);
}

/** One read of the stream `default`. */
export async function readDefault(
  pipeline: Pipeline,
  window: WindowRequest = LAST_HOUR,
): Promise<Omit<ReadResult, 'summaries'> & { readonly summaries: readonly BucketSummary[] }> {
  const asked = { share: 'default', buckets: bucketsOf(pipeline, window), viewers: false };
  const { summaries, ...rest } = await pipeline.reader.read([asked], pipeline.clock.nowMs());
  return { ...rest, summaries: summaries[0]! };
}

export function bucketsOf(
  pipeline: Pipeline,
  window: WindowRequest = LAST_HOUR,
): readonly Bucket[] {
  const nowMs = pipeline.clock.nowMs();
  return coverSpan(spanOf(window, nowMs), nowMs, RETENTION).buckets;
}
