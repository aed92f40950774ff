import { LEVEL_MS } from '../buckets.ts';
import type { BucketSummary } from '../reader.ts';

/**
 * What an event of each summary counts at a window's end: 2^(-age / halfLifeMs). All events of a
 * bucket are taken to be as old as its middle, at least 0; in a bucket of width w each of them is
 * w / 2 older or younger at most, so a weight is off by a factor of at most
 * 2^(w / (2 halfLifeMs)): 1.2 % for minutes and a half-life of 30 minutes, 2 for hours and it.
 */
export function decayWeights(
  summaries: readonly BucketSummary[],
  endMs: number,
  halfLifeMs: number,
): number[] {
  return summaries.map(({ bucket: { level, startMs } }) => {
    const ageMs = Math.max(0, endMs - (startMs + LEVEL_MS[level] / 2));
    return 2 ** (-ageMs / halfLifeMs);
  });
}
