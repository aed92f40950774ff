import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bucketEndMs,
  DAY_MS,
  HOUR_MS,
  isKept,
  LEVEL_MS,
  MINUTE_MS,
} from '../../../src/streams/buckets.ts';
import { coverDecaying } from '../../../src/streams/questions/decay.ts';
import { coverSpan } from '../../../src/streams/window.ts';
import { RETENTION, START_MS } from '../../support/pipeline.ts';

const nowMs = START_MS;
const minutes = (reachDays: number) => fc.nat((reachDays * DAY_MS) / MINUTE_MS);
const spans = fc
  .tuple(fc.oneof(minutes(2), minutes(40), minutes(390)), fc.oneof(fc.constant(0), minutes(3)))
  .map(([lengthMinutes, untilAge]) => {
    const toMs = Math.floor(nowMs / MINUTE_MS - untilAge) * MINUTE_MS;
    return { fromMs: toMs - (lengthMinutes + 1) * MINUTE_MS, toMs };
  });
const halfLives = fc
  .oneof(fc.integer({ min: 1, max: 300 }), minutes(10))
  .map((count) => Math.max(1, count) * MINUTE_MS);

test('a decaying window covers the same time, without gaps, by narrow buckets at its end', () => {
  fc.assert(
    fc.property(spans, halfLives, (span, halfLifeMs) => {
      const cover = coverDecaying(span, nowMs, RETENTION, halfLifeMs);
      const plain = coverSpan(span, nowMs, RETENTION);
      expect([cover.fromMs, cover.toMs]).toEqual([plain.fromMs, plain.toMs]);
      expect(cover.widened).toBe(plain.widened);
      let endMs = cover.fromMs;
      for (const bucket of cover.buckets) {
        expect(bucket.startMs).toBe(endMs);
        expect(isKept(bucket, nowMs, RETENTION)).toBe(true);
        endMs = bucketEndMs(bucket);
      }
      // The last half-life is always narrow, as far as minutes are kept of all of its hours.
      const narrowMs = Math.max(MINUTE_MS, halfLifeMs / 2);
      const fineFromMs = Math.max(span.toMs - halfLifeMs, nowMs - RETENTION.minute + HOUR_MS);
      for (const { level, startMs } of cover.buckets) {
        if (startMs >= fineFromMs) expect(LEVEL_MS[level]).toBeLessThanOrEqual(narrowMs);
      }
    }),
    { numRuns: 500 },
  );
});

test('of a long window only the end is read by minutes', () => {
  const toMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const span = { fromMs: toMs - DAY_MS, toMs };
  const { buckets } = coverDecaying(span, nowMs, RETENTION, 15 * MINUTE_MS);
  // Two hours before the end, the hours before, and minutes at the begin.
  expect(buckets.filter(({ level }) => level === 'hour')).toHaveLength(22);
  expect(buckets).toHaveLength(22 + 94 + 26);
});
