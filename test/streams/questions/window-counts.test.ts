import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Prng } from '../../../src/lib/prng.ts';
import { KeyedHash } from '../../../src/sketches/hash.ts';
import { PART_SHAPE, Summary } from '../../../src/sketches/summary.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import { countsWithin } from '../../../src/streams/questions/window-counts.ts';
import type { BucketSummary } from '../../../src/streams/reader.ts';

const hash = new KeyedHash({ k0: 1, k1: 2 });
const RUNS = 400;

interface Visit {
  readonly atMs: number;
  readonly actor: string;
}

/** One item's events of some hours, spread evenly, by actors of whom each comes several times. */
function visitsOf(prng: Prng, hours: number, actors: number, perActor: number): Visit[] {
  return Array.from({ length: actors * perActor }, (_, index) => ({
    atMs: prng.nextInt(hours * HOUR_MS),
    actor: `actor-${index % actors}`,
  }));
}

/** A summary for each bucket of `lengthMs`. */
function summariesOf(visits: readonly Visit[], level: 'minute' | 'hour'): BucketSummary[] {
  const lengthMs = level === 'hour' ? HOUR_MS : MINUTE_MS;
  const byStart = new Map<number, Summary>();
  for (const { atMs, actor } of visits) {
    const startMs = Math.floor(atMs / lengthMs) * lengthMs;
    const summary = byStart.get(startMs) ?? new Summary({ hash, shape: PART_SHAPE });
    byStart.set(startMs, summary);
    hash.hashString(actor);
    summary.add('item', 1, { lo: hash.lo, hi: hash.hi });
  }
  return [...byStart].map(([startMs, summary]) => ({
    bucket: { level, startMs },
    summary,
    partition: 0,
    source: 'store',
    foldedAtMs: null,
  }));
}

test('bounds of a share hold for events that are spread evenly, but for rare cases', () => {
  let missed = 0;
  const prng = new Prng(11);
  for (let run = 0; run < RUNS; run += 1) {
    const visits = visitsOf(prng, 2, 1 + prng.nextInt(100), 1 + (run % 5));
    const fromMs = prng.nextInt(60) * MINUTE_MS;
    const span = { fromMs, toMs: fromMs + HOUR_MS };
    const inside = visits.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs);
    const hours = summariesOf(visits, 'hour');
    const events = countsWithin(hours, span, hash, 'events').boundsOf('item');
    const byActors = countsWithin(hours, span, hash, 'actors');
    const actors = byActors.boundsOf('item');
    const actorCount = new Set(inside.map(({ actor }) => actor)).size;
    if (inside.length < events.lower || inside.length > events.upper) missed += 1;
    if (actorCount > actors.upper) missed += 1;
    const { size } = new Set(visits.map(({ actor }) => actor));
    expect(actors.upper).toBeLessThanOrEqual(size);
    expect(byActors.total).toBeLessThanOrEqual(size);
  }
  expect(missed).toBeLessThanOrEqual(RUNS * 0.01);
});

test('whole buckets are counted as they are, and what lies outside is left out', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ atMinute: fc.nat(179), actor: fc.nat(9).map(String) })),
      fc.nat(120),
      (rows, fromMinute) => {
        const visits = rows.map(({ atMinute, actor }) => ({ atMs: atMinute * MINUTE_MS, actor }));
        const span = { fromMs: fromMinute * MINUTE_MS, toMs: fromMinute * MINUTE_MS + HOUR_MS };
        const inside = visits.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs);
        const minutes = summariesOf(visits, 'minute');
        const events = countsWithin(minutes, span, hash, 'events');
        const { length } = inside;
        expect(events.boundsOf('item')).toEqual({ count: length, lower: length, upper: length });
        expect(events.total).toBe(length);
        const { size } = new Set(inside.map(({ actor }) => actor));
        const actors = countsWithin(minutes, span, hash, 'actors');
        expect(actors.boundsOf('item')).toEqual({ count: size, lower: size, upper: size });
        expect(actors.total).toBe(size);
      },
    ),
    { numRuns: 100 },
  );
});
