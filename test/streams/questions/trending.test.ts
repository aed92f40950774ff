import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import type { EventInput } from '../../../src/streams/ingest.ts';
import type { AskedIndex } from '../../../src/streams/store-port.ts';
import { foldRawPart } from '../../support/compacted.ts';
import { eventOf, Pipeline, START_MS } from '../../support/pipeline.ts';
import { stream, trailing } from '../../support/questions.ts';

const window = trailing(HOUR_MS);
/** An hour that ends on the hour, so that hours cover it on days whose minutes are gone. */
const wholeHour = trailing(HOUR_MS, Date.UTC(2026, 10, 30, 12));
const REGULARS = 40;
const REGULAR_COUNT = 30;

/** Regular items, each with as many events in the hour, spread evenly over it. */
function hourOf(endMs: number, factor = 1): EventInput[] {
  const events: EventInput[] = [];
  for (let item = 0; item < REGULARS; item += 1) {
    for (let piece = 0; piece < 10; piece += 1) {
      const atMs = endMs - HOUR_MS + piece * 6 * MINUTE_MS;
      const count = (REGULAR_COUNT / 10) * factor;
      const actor = `actor-${item}-${piece}-${endMs % 97}`;
      events.push(eventOf({ item: `regular-${item}`, actor, count, atMs }));
    }
  }
  return events;
}

async function withHistory(
  days: number,
  endMs: number,
  options: ConstructorParameters<typeof Pipeline>[0] = {},
): Promise<Pipeline> {
  const pipeline = new Pipeline(options);
  for (let day = days; day > 0; day -= 1) await pipeline.send(hourOf(endMs - day * DAY_MS));
  return pipeline;
}

const END_MS = Date.UTC(2026, 10, 30, 12);

describe('what trends', () => {
  test('is what is unusually frequent for its hour, with the reason in numbers', async () => {
    const pipeline = await withHistory(8, END_MS);
    const burst = { item: 'regular-7', count: 90, atMs: END_MS - 20 * MINUTE_MS };
    const fresh = { item: 'fresh', count: 50, atMs: END_MS - 5 * MINUTE_MS };
    await pipeline.send([...hourOf(END_MS), burst, fresh]);
    await pipeline.compactAll();
    const answer = await pipeline.queries.trending({ stream, window: wholeHour, k: 10 });
    expect(answer).toMatchObject({
      by: 'events',
      baseline: { kind: 'days', used: 7, of: 7, zone: 'UTC' },
      total: REGULARS * REGULAR_COUNT + 140,
      trendingCount: 2,
      exact: true,
      minSupport: 10,
      threshold: 5,
    });
    expect(answer.items.map(({ rank, item }) => [rank, item])).toEqual([
      [1, 'fresh'],
      [2, 'regular-7'],
    ]);
    const [first, second] = answer.items;
    expect(first).toMatchObject({ count: 50, lower: 50, expected: 0, lift: null });
    expect(second).toMatchObject({ count: 120, lower: 120 });
    expect(second?.expected).toBeCloseTo(REGULAR_COUNT, 0);
    expect(second?.lift).toBeCloseTo(4, 0);
    expect(second?.score).toBeGreaterThan(5);
    expect(second?.days).toEqual(
      [7, 6, 5, 4, 3, 2, 1].map((day) => ({
        fromMs: END_MS - HOUR_MS - day * DAY_MS,
        toMs: END_MS - day * DAY_MS,
        count: REGULAR_COUNT,
        lower: REGULAR_COUNT,
        upper: REGULAR_COUNT,
        scale: expect.closeTo(1, 1),
      })),
    );
  });

  test('is nothing when all of the stream is busier', async () => {
    const pipeline = await withHistory(8, END_MS);
    await pipeline.send(hourOf(END_MS, 3));
    await pipeline.compactAll();
    const answer = await pipeline.queries.trending({ stream, window: wholeHour, k: 10 });
    expect(answer).toMatchObject({ items: [], trendingCount: 0 });
    expect(answer.baseline.used).toBe(7);
  });

  test('has a least support, and a list of k', async () => {
    const pipeline = await withHistory(8, END_MS);
    const atMs = END_MS - 20 * MINUTE_MS;
    const fresh = [9, 60, 80].map((count) => ({ item: `fresh-${count}`, count, atMs }));
    await pipeline.send([...hourOf(END_MS), ...fresh]);
    await pipeline.compactAll();
    const ask = { stream, window: wholeHour };
    const one = await pipeline.queries.trending({ ...ask, k: 1 });
    expect(one.items.map(({ item }) => item)).toEqual(['fresh-80']);
    expect(one.trendingCount).toBe(2);
    const strict = await pipeline.queries.trending({ ...ask, k: 5, minSupport: 61 });
    expect(strict.items.map(({ item }) => item)).toEqual(['fresh-80']);
    const lax = await pipeline.queries.trending({ ...ask, k: 5, minSupport: 9 });
    expect(lax.items.map(({ item }) => item)).toContain('fresh-60');
  });

  test('takes hours by their share where minutes are gone, and makes the bounds wider', async () => {
    // Half of the window lies in each of two hours.
    const endMs = Date.UTC(2026, 10, 30, 12, 30);
    const pipeline = await withHistory(8, endMs);
    await pipeline.send([...hourOf(endMs), { item: 'regular-3', count: 120, atMs: endMs - 1 }]);
    await pipeline.compactAll();
    const asked = { stream, window: trailing(HOUR_MS, endMs), k: 5 };
    const { items } = await pipeline.queries.trending(asked);
    expect(items.map(({ item }) => item)).toEqual(['regular-3']);
    const days = items[0]!.days;
    // In each of both hours 15 events, of which half is taken.
    const slack = 2 * 3 * Math.sqrt(15 / 4);
    for (const { fromMs, count, lower, upper } of days.slice(0, -1)) {
      expect(fromMs % HOUR_MS).toBe(30 * MINUTE_MS);
      expect(count).toBe(REGULAR_COUNT / 2);
      expect(lower).toBeGreaterThanOrEqual(0);
      expect(upper).toBeGreaterThan(count);
      expect(upper).toBeLessThanOrEqual(count + slack);
    }
    // The minutes of yesterday's second hour are still kept: all of its events lie in the window.
    expect(days.at(-1)?.count).toBe(15 / 2 + 15);
  });

  test('is measured by the windows right before where there is less history', async () => {
    const pipeline = new Pipeline();
    for (let hours = 5; hours > 0; hours -= 1) {
      await pipeline.send(hourOf(END_MS - hours * HOUR_MS));
    }
    const burst = { item: 'regular-7', count: 90, atMs: END_MS - 20 * MINUTE_MS };
    await pipeline.send([...hourOf(END_MS), burst]);
    await pipeline.compactAll();
    const answer = await pipeline.queries.trending({ stream, window: wholeHour, k: 10 });
    expect(answer.baseline).toEqual({ kind: 'windows', used: 5, of: 7, zone: 'UTC' });
    expect(answer.items).toMatchObject([{ item: 'regular-7', rank: 1 }]);
    expect(answer.items[0]?.days[0]?.fromMs).toBe(END_MS - 6 * HOUR_MS);
  });

  test('is nothing where there is no history at all', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'first', count: 500 }]);
    await pipeline.foldAll();
    const answer = await pipeline.queries.trending({ stream, window, k: 10 });
    expect(answer).toMatchObject({ items: [], baseline: { kind: 'windows', used: 0, of: 7 } });
  });

  test('compares windows longer than a day with the ones before', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'a' }]);
    await pipeline.foldAll();
    const asked = { stream, window: trailing(2 * DAY_MS), k: 1, baselineDays: 3 };
    const { baseline } = await pipeline.queries.trending(asked);
    expect(baseline).toMatchObject({ kind: 'windows', of: 3 });
  });

  test('compares by the clock of a zone, also where it was turned in between', async () => {
    const endMs = Date.UTC(2026, 10, 3, 17);
    const pipeline = new Pipeline({ startMs: endMs + 5 * MINUTE_MS });
    // Noon in New York, which was an hour earlier in UTC before November 1.
    const noons = [4, 3, 2, 1].map((day) => endMs - day * DAY_MS - (day > 2 ? HOUR_MS : 0));
    for (const noonMs of noons) await pipeline.send(hourOf(noonMs));
    await pipeline.send([...hourOf(endMs), { item: 'fresh', count: 99, atMs: endMs - 1 }]);
    await pipeline.compactAll();
    const zone = 'America/New_York';
    const asked = { stream, window: trailing(HOUR_MS, endMs), k: 1, zone, baselineDays: 4 };
    const { items, baseline } = await pipeline.queries.trending(asked);
    expect(baseline).toEqual({ kind: 'days', used: 4, of: 4, zone });
    expect(items[0]?.days.map(({ toMs }) => toMs)).toEqual(noons);
  });
});

describe('what trends by actors', () => {
  test('is what has unusually many of them: a single one never trends', async () => {
    const pipeline = await withHistory(8, END_MS);
    const crowd = Array.from({ length: 60 }, (_, index) => ({
      item: 'regular-5',
      actor: `new-${index}`,
      atMs: END_MS - 30 * MINUTE_MS,
    }));
    const bot = { item: 'regular-9', actor: 'bot', count: 5_000, atMs: END_MS - 30 * MINUTE_MS };
    await pipeline.send([...hourOf(END_MS), ...crowd, bot]);
    await pipeline.compactAll();
    const asked = { stream, window: wholeHour, k: 10, by: 'actors' } as const;
    const answer = await pipeline.queries.trending(asked);
    expect(answer.items).toMatchObject([
      { item: 'regular-5', count: 70, lower: 70, upper: 70, expected: expect.closeTo(10, 0) },
    ]);
    const byEvents = await pipeline.queries.trending({ ...asked, by: 'events' });
    expect(byEvents.items.map(({ item }) => item)).toContain('regular-9');
  });

  test('counts an actor of both hours of a window once at most', async () => {
    const endMs = Date.UTC(2026, 10, 30, 12, 30);
    const pipeline = await withHistory(8, endMs);
    // Loyal ones, all of them in both hours of each day.
    for (let day = 8; day >= 0; day -= 1) {
      const times = [endMs - 10 * MINUTE_MS, endMs - 50 * MINUTE_MS];
      await pipeline.send(
        times.flatMap((atMs) =>
          Array.from({ length: 40 }, (_, index) => ({
            item: 'series',
            actor: `loyal-${index}`,
            atMs: atMs - day * DAY_MS,
          })),
        ),
      );
    }
    const crowd = Array.from({ length: 400 }, (_, index) => ({
      item: 'series',
      actor: `new-${index}`,
      atMs: endMs - 30 * MINUTE_MS,
    }));
    await pipeline.send([...hourOf(endMs), ...crowd]);
    await pipeline.compactAll();
    const asked = { stream, window: trailing(HOUR_MS, endMs), k: 10, by: 'actors' } as const;
    const { items } = await pipeline.queries.trending(asked);
    expect(items).toMatchObject([{ item: 'series', count: 440 }]);
    for (const { lower, count, upper } of items[0]!.days) {
      expect(upper).toBeLessThanOrEqual(40);
      expect(lower).toBeLessThanOrEqual(count);
      expect(count).toBeLessThanOrEqual(upper);
    }
  });
});

describe('a list of what trends', () => {
  const burst = (item: string, count: number, endMs: number) =>
    eventOf({ item, count, atMs: endMs - 10 * MINUTE_MS });

  test('leaves out what moderation hides, and ranks close up', async () => {
    const pipeline = await withHistory(8, END_MS);
    const events = [burst('spam', 300, END_MS), burst('news', 100, END_MS)];
    await pipeline.send([...hourOf(END_MS), ...events]);
    await pipeline.compactAll();
    const asked = { stream, window: wholeHour, k: 10 };
    const before = await pipeline.queries.trending(asked);
    expect(before.items.map(({ item }) => item)).toEqual(['spam', 'news']);
    const changes = [{ action: 'block', item: 'spam' } as const];
    await pipeline.registry.changeModeration(stream, changes, { by: 'ann' });
    const after = await pipeline.queries.trending(asked);
    expect(after.items).toMatchObject([{ item: 'news', rank: 1 }]);
  });

  test('says which rank a row had an hour before, and what is new', async () => {
    const pipeline = await withHistory(8, END_MS);
    const earlierMs = END_MS - HOUR_MS;
    for (let day = 8; day > 0; day -= 1) await pipeline.send(hourOf(earlierMs - day * DAY_MS));
    await pipeline.send([
      ...hourOf(earlierMs),
      burst('rising', 80, earlierMs),
      burst('falling', 200, earlierMs),
      ...hourOf(END_MS),
      burst('rising', 300, END_MS),
      burst('falling', 90, END_MS),
      burst('fresh', 60, END_MS),
    ]);
    await pipeline.compactAll();
    const asked = { stream, window: wholeHour, k: 10, movement: true };
    const { items, previous } = await pipeline.queries.trending(asked);
    expect(items).toMatchObject([
      { item: 'rising', previousRank: 2, isNew: false },
      { item: 'falling', previousRank: 1, isNew: false },
      { item: 'fresh', previousRank: null, isNew: true },
    ]);
    expect(previous).toEqual({ fromMs: earlierMs - HOUR_MS, toMs: earlierMs, complete: true });
  });

  test('of a segment does not take the time before it was kept for usual', async () => {
    const pipeline = await withHistory(8, END_MS);
    await pipeline.registry.changeSettings(stream, { dimensions: [{ name: 'country' }] });
    await pipeline.clock.advance(DAY_MS);
    const endMs = END_MS + DAY_MS;
    const dims = { country: 'IN' };
    await pipeline.send(hourOf(endMs).map((event) => ({ ...event, dims })));
    await pipeline.compactAll();
    const where = { dimension: 'country', value: 'IN' };
    const asked = { stream, window: trailing(HOUR_MS, endMs), where, k: 10 };
    const answer = await pipeline.queries.trending(asked);
    expect(answer).toMatchObject({ items: [], segment: where, baseline: { used: 0 } });
    expect(answer.total).toBe(REGULARS * REGULAR_COUNT);
  });
});

describe('an earlier window', () => {
  test('of which only the day is left says nothing about one of its hours', async () => {
    const pipeline = new Pipeline();
    const retention = { minute: 3 * HOUR_MS, hour: 4 * DAY_MS };
    await pipeline.registry.changeSettings(stream, { retention });
    for (let day = 8; day > 0; day -= 1) await pipeline.send(hourOf(END_MS - day * DAY_MS));
    await pipeline.send([
      ...hourOf(END_MS),
      eventOf({ item: 'fresh', count: 99, atMs: END_MS - 1 }),
    ]);
    await pipeline.compactAll();
    const asked = { stream, window: wholeHour, k: 5 };
    const { items, baseline } = await pipeline.queries.trending(asked);
    expect(baseline).toMatchObject({ kind: 'days', used: 3, of: 7 });
    expect(items.map(({ item }) => item)).toEqual(['fresh']);
  });

  test('of which something was damaged says nothing', async () => {
    const pipeline = await withHistory(8, END_MS);
    const hour = { level: 'hour', startMs: END_MS - HOUR_MS - 2 * DAY_MS } as const;
    await foldRawPart(pipeline, hour, new Uint8Array([1, 2, 3]));
    await pipeline.compactAll();
    const { baseline, missing } = await pipeline.queries.trending({
      stream,
      window: wholeHour,
      k: 5,
    });
    expect(baseline).toMatchObject({ kind: 'days', used: 6, of: 7 });
    expect(missing).toHaveLength(1);
  });

  test('in the midst of which a dimension began to be kept says nothing', async () => {
    const pipeline = new Pipeline({ startMs: END_MS });
    await pipeline.send([{ item: 'a' }]);
    await pipeline.registry.changeSettings(stream, { dimensions: [{ name: 'country' }] });
    await pipeline.clock.advance(20 * MINUTE_MS);
    const dims = { country: 'IN' };
    await pipeline.send([{ item: 'a', dims }]);
    await pipeline.clock.advance(40 * MINUTE_MS);
    await pipeline.send([{ item: 'a', count: 500, dims, atMs: END_MS + 50 * MINUTE_MS }]);
    await pipeline.foldAll();
    const where = { dimension: 'country', value: 'IN' };
    const half = trailing(HOUR_MS / 2, END_MS + HOUR_MS);
    const answer = await pipeline.queries.trending({ stream, window: half, where, k: 5 });
    expect(answer).toMatchObject({ items: [], total: 500, missing: [], baseline: { used: 0 } });
  });
});

describe('the reads for what trends', () => {
  const bucketsAsked = (pipeline: Pipeline): number[] =>
    pipeline.watched
      .callsOf('readIndex')
      .map(({ args }) =>
        (args[1] as AskedIndex[]).reduce((sum, { buckets }) => sum + buckets.length, 0),
      );

  test('are one index a partition, of the fewest buckets', async () => {
    const pipeline = await withHistory(8, END_MS, { partitionCount: 2 });
    await pipeline.send(hourOf(END_MS));
    await pipeline.compactAll();
    pipeline.watched.calls = [];
    await pipeline.queries.trending({ stream, window: wholeHour, k: 10 });
    expect(bucketsAsked(pipeline)).toEqual([8, 8]);
  });

  test('are a second index for want of history', async () => {
    const pipeline = new Pipeline();
    await pipeline.queries.trending({ stream, window: wholeHour, k: 10 });
    expect(bucketsAsked(pipeline)).toEqual([8, 8]);
  });
});

test('an hour that begins now is compared with whole hours', async () => {
  const pipeline = await withHistory(8, START_MS);
  await pipeline.send([{ item: 'fresh', count: 200 }]);
  await pipeline.foldAll();
  const { items } = await pipeline.queries.trending({ stream, window, k: 5 });
  expect(items.map(({ item }) => item)).toEqual(['fresh']);
});
