import { ceilTo, LEVEL_MS, LEVELS, type Retention } from '../buckets.ts';
import type { BucketSummary } from '../reader.ts';
import { type CoveredSpan, coverSpan, type Span } from '../window.ts';

/** After so many half-lives an event counts less than 0.4 %. */
const FINE_HALF_LIVES = 8;
/** Buckets are at most such a part of a half-life. */
const BUCKET_SHARE = 1 / 2;

/**
 * What an event of each summary counts at a window's end: 2^(-age / halfLifeMs). All events of a
 * bucket are taken to be as old as its middle, at least 0; in a bucket of width w each of them is
 * w / 2 older or younger at most, so a weight is off by at most a factor of
 * 2^(w / (2 halfLifeMs)): 1.2 % for minutes and a half-life of 30 minutes.
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

/**
 * Covers a span by buckets that are narrow where events count: of the last FINE_HALF_LIVES as far
 * as they are kept, so that a weight there is off by at most 2^(BUCKET_SHARE / 2), 19 %; by minutes
 * at the narrowest. What is older is covered by the fewest buckets.
 */
export function coverDecaying(
  span: Span,
  nowMs: number,
  retention: Retention,
  halfLifeMs: number,
): CoveredSpan {
  const wanted = LEVELS.findLastIndex((each) => LEVEL_MS[each] <= halfLifeMs * BUCKET_SHARE);
  const level = LEVELS[Math.max(0, wanted)]!;
  const coarser = LEVELS[LEVELS.indexOf(level) + 1];
  if (coarser === undefined) return coverSpan(span, nowMs, retention);
  const countsFromMs = span.toMs - FINE_HALF_LIVES * halfLifeMs;
  const fineFromMs = ceilTo(Math.max(countsFromMs, nowMs - retention[level]), LEVEL_MS[coarser]);
  if (fineFromMs >= span.toMs) return coverSpan(span, nowMs, retention);
  if (fineFromMs <= span.fromMs) return coverSpan(span, nowMs, retention, level);
  const old = coverSpan({ fromMs: span.fromMs, toMs: fineFromMs }, nowMs, retention);
  const fine = coverSpan({ fromMs: fineFromMs, toMs: span.toMs }, nowMs, retention, level);
  return {
    ...fine,
    fromMs: old.fromMs,
    buckets: [...old.buckets, ...fine.buckets],
    widened: old.widened || fine.widened,
  };
}
