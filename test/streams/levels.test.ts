import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CLOSED_SHAPE, type SummaryShape } from '../../src/sketches/summary.ts';
import {
  type Bucket,
  bucketEndMs,
  bucketOf,
  DAY_MS,
  floorTo,
  HOUR_MS,
  isKept,
  LEVELS,
  MINUTE_MS,
} from '../../src/streams/buckets.ts';
import type { EventInput } from '../../src/streams/ingest.ts';
import type { WindowRequest } from '../../src/streams/window.ts';
import { countsOf, summaryAt } from '../support/compacted.ts';
import { EventOracle } from '../support/event-oracle.ts';
import { eventOf, Pipeline, RETENTION, START_MS } from '../support/pipeline.ts';

/** So small that a day is sketched. */
const SMALL_SHAPE: SummaryShape = {
  ...CLOSED_SHAPE,
  width: 16,
  depth: 2,
  candidates: 6,
  exactItems: 4,
  exactItemBytes: 1_000,
};

/** Of all ages, many at the ends of what the levels keep, and within few hours and days. */
const agesMs = fc.oneof(
  fc.integer({ min: -30_000, max: 3 * HOUR_MS }),
  fc.integer({ min: 24 * HOUR_MS, max: 26 * HOUR_MS }),
  fc.integer({ min: 31 * DAY_MS, max: 33 * DAY_MS }),
  fc.integer({ min: 0, max: 40 }).map((n) => n * 10 * DAY_MS),
  fc.integer({ min: 0, max: 400 * DAY_MS }),
  fc.integer({ min: 398 * DAY_MS, max: 403 * DAY_MS }),
);

const steps = fc.array(
  fc.record({
    events: fc.array(
      fc.record({
        item: fc.nat(9).map((index) => `item-${index}`),
        actor: fc.option(fc.nat(9).map((index) => `actor-${index}`)),
        count: fc.constantFrom(1, 1, 2, 50),
        ageMs: agesMs,
      }),
      { maxLength: 20 },
    ),
    next: fc.constantFrom('wait', 'fold', 'compact', 'hours', 'days'),
  }),
  { minLength: 1, maxLength: 8, size: 'max' },
);

const requests: fc.Arbitrary<WindowRequest> = fc.oneof(
  fc
    .tuple(fc.integer({ min: 0, max: 410 * DAY_MS }), fc.integer({ min: 1, max: 50 * DAY_MS }))
    .map(([agoMs, lengthMs]) => {
      const toMs = START_MS - agoMs;
      return { kind: 'range', fromMs: toMs - lengthMs - MINUTE_MS, toMs } as const;
    }),
  fc.constantFrom('1h', '24h', '30d', '400d').map((length) => {
    const unitMs = length.endsWith('d') ? DAY_MS : HOUR_MS;
    const lengthMs = Number(length.slice(0, -1)) * unitMs;
    return { kind: 'trailing', lengthMs, untilMs: null } as const;
  }),
  fc
    .tuple(
      fc.constantFrom('today', 'yesterday', 'last_week', 'last_month', '2026', '2026-02'),
      fc.constantFrom('UTC', 'Asia/Kathmandu', 'America/New_York'),
    )
    .map(([period, zone]) => ({ kind: 'period', period, zone }) as const),
);

describe.each([
  ['exact', CLOSED_SHAPE],
  ['sketched', SMALL_SHAPE],
] as const)('in %s summaries', (name, closedShape) => {
  test('events of any age and in any order enter each level that keeps them exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps,
        fc.array(requests, { minLength: 6, maxLength: 6 }),
        async (...all) => {
          const [taken, asked] = all;
          const pipeline = new Pipeline({ closedShape });
          const kept: { event: EventInput; bucket: Bucket }[] = [];
          for (const step of taken) await takeStep(pipeline, step, kept);
          await pipeline.compactAll();
          await pipeline.compactAll();
          const nowMs = pipeline.clock.nowMs();
          expect(await pipeline.openParts()).toEqual([]);
          await checkSummaries(pipeline, kept, nowMs);
          const oracle = new EventOracle(kept.map(({ event }) => event));
          for (const request of asked)
            await checkAnswer(pipeline, oracle, request, name === 'exact');
        },
      ),
      { numRuns: 60 },
    );
  });
});

async function takeStep(
  pipeline: Pipeline,
  step: { readonly events: readonly (Partial<EventInput> & { ageMs: number })[]; next: string },
  kept: { event: EventInput; bucket: Bucket }[],
): Promise<void> {
  const nowMs = pipeline.clock.nowMs();
  const events = step.events.map(({ ageMs, ...event }, index) =>
    eventOf({ ...event, index, atMs: nowMs - ageMs }),
  );
  const { rejected } = await pipeline.send(events);
  const refused = new Map(rejected.map(({ index, code }) => [index, code]));
  for (const event of events) {
    const buckets = LEVELS.map((level) => bucketOf(level, event.atMs!));
    const bucket = buckets.find((each) => isKept(each, nowMs, RETENTION));
    expect(refused.get(event.index)).toBe(bucket === undefined ? 'too_old' : undefined);
    if (bucket !== undefined) kept.push({ event, bucket });
  }
  if (step.next === 'fold') await pipeline.foldAll();
  if (step.next === 'compact') await pipeline.compactAll();
  if (step.next === 'hours') await pipeline.clock.advance(5 * HOUR_MS);
  if (step.next === 'days') await pipeline.clock.advance(2 * DAY_MS);
}

/** Each summary that is kept holds the events that came in at its level or at a finer one. */
async function checkSummaries(
  pipeline: Pipeline,
  kept: readonly { readonly event: EventInput; readonly bucket: Bucket }[],
  nowMs: number,
): Promise<void> {
  for (const [rank, level] of LEVELS.entries()) {
    const starts = new Set(kept.map(({ event }) => bucketOf(level, event.atMs!).startMs));
    for (const startMs of starts) {
      const bucket = { level, startMs };
      if (!isKept(bucket, nowMs, RETENTION)) continue;
      const held = kept.filter(
        ({ event, bucket: own }) =>
          LEVELS.indexOf(own.level) <= rank &&
          event.atMs! >= startMs &&
          event.atMs! < bucketEndMs(bucket),
      );
      const { counts, total } = new EventOracle(held.map(({ event }) => event));
      const summary = await summaryAt(pipeline, bucket);
      expect(summary?.total ?? 0).toBe(total);
      if (summary === null) continue;
      expect(summary.incomplete).toBe(false);
      if (summary.itemsExact) expect(countsOf(summary)).toEqual(Object.fromEntries(counts));
    }
  }
}

async function checkAnswer(
  pipeline: Pipeline,
  oracle: EventOracle,
  window: WindowRequest,
  isExact: boolean,
): Promise<void> {
  const top = await pipeline.queries.top({ stream: 'default', window, k: 10 });
  const distinct = await pipeline.queries.distinct({ stream: 'default', window });
  const meant = oracle.within(top);
  expect(top.total).toBe(meant.total);
  expect(top.missing).toEqual([]);
  if (isExact) {
    expect(top.exact).toBe(true);
    expect(new Map(top.items.map(({ item, count }) => [item, count]))).toEqual(meant.counts);
    expect(distinct.estimate).toBe(meant.actors.size);
  }
  for (const { item, lower, upper } of top.items) {
    expect(lower).toBeLessThanOrEqual(meant.countOf(item));
    expect(upper).toBeGreaterThanOrEqual(meant.countOf(item));
  }
  if (window.kind !== 'range' || top.widened) return;
  // What is not widened is what was asked for, as far as it is kept.
  const fromMs = floorTo(window.fromMs, MINUTE_MS);
  const oldestMs = floorTo(pipeline.clock.nowMs() - RETENTION.day, DAY_MS);
  const toMs = floorTo(window.toMs!, MINUTE_MS);
  const isAllGone = toMs <= oldestMs;
  expect(top.fromMs).toBe(isAllGone ? toMs : Math.max(fromMs, oldestMs));
  expect(top.toMs).toBe(toMs);
}
