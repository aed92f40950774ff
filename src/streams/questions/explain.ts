import type { ExplainedSummary, Explain } from '../answers.ts';
import { bucketEndMs } from '../buckets.ts';
import { EXPLAINED_SUMMARIES_MAX } from '../limits.ts';
import type { BucketSummary } from '../reader.ts';
import { type Share, shareOf } from '../shares.ts';
import type { Plan, PlanRead } from './plan.ts';

/** What a plan has read, each summary once also where several of its reads hold it. */
export function explainRead(
  { reads }: Plan<unknown>,
  { summaries }: PlanRead,
  spent: Explain['spent'],
  readAtMs: number,
): Explain {
  const seen = new Set<BucketSummary['summary']>();
  const explained: ExplainedSummary[] = [];
  let summaryBytes = 0;
  for (const [index, { share }] of reads.entries()) {
    const of = shareOf(share);
    for (const read of summaries[index] ?? []) {
      if (seen.has(read.summary)) continue;
      seen.add(read.summary);
      summaryBytes += read.summary.byteLength;
      if (explained.length < EXPLAINED_SUMMARIES_MAX)
        explained.push(explainOne(read, of, readAtMs));
    }
  }
  return { summaries: explained, summaryCount: seen.size, summaryBytes, spent };
}

function explainOne(
  { bucket, summary, partition, source, foldedAtMs }: BucketSummary,
  { stream, segment }: Share,
  readAtMs: number,
): ExplainedSummary {
  const { level, startMs } = bucket;
  const { byteLength: bytes, itemsExact, actorsExact, cut } = summary;
  const sinceMs = foldedAtMs ?? bucketEndMs(bucket);
  // Of a bucket that is still open, its end lies ahead.
  const ageMs = Math.max(0, readAtMs - sinceMs);
  return {
    ...{ partition, stream, segment, level, startMs, source },
    ...{ bytes, itemsExact, actorsExact, cut, ageMs },
  };
}
