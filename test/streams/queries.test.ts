import { describe, expect, test } from 'vitest';
import { CLOSED_SHAPE } from '../../src/sketches/summary.ts';
import { bucketOf, DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { WindowError } from '../../src/streams/window.ts';
import { sumOf } from '../support/event-oracle.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';
import { NARROW_SHAPE, stream, trailing } from '../support/questions.ts';

const window = trailing(HOUR_MS);

describe('top', () => {
  test('of a stream that nobody has written to is empty and exact', async () => {
    expect(await new Pipeline().queries.top({ stream, window, k: 10 })).toEqual({
      stream,
      fromMs: Date.UTC(2026, 10, 30, 11, 35),
      toMs: START_MS,
      asOfMs: START_MS,
      lagging: false,
      missing: [],
      segment: null,
      widened: false,
      by: 'events',
      items: [],
      offset: 0,
      certainRanks: 0,
      halfLifeMs: null,
      k: 10,
      total: 0,
      exact: true,
      errorBound: 0,
      maxUnlisted: 0,
      saturated: false,
    });
  });

  test('ranks by count, then by the bytes of the items', async () => {
    const pipeline = new Pipeline();
    const items = ['b', '\u{10000}', '\uffff', 'é', 'B', 'a', 'a'];
    await pipeline.send(items.map((item) => ({ item })));
    await pipeline.foldAll();
    const answer = await pipeline.queries.top({ stream, window, k: 10 });
    const ranked = ['a', 'B', 'b', 'é', '\uffff', '\u{10000}'];
    expect(answer.items.map(({ rank, item }) => [rank, item])).toEqual(
      ranked.map((item, index) => [index + 1, item]),
    );
  });

  test('of k items says what the next one has, and 0 when there is none', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'a', count: 5 }, { item: 'b', count: 3 }, { item: 'c' }]);
    await pipeline.foldAll();
    const unlisted = async (k: number): Promise<number> =>
      (await pipeline.queries.top({ stream, window, k })).maxUnlisted;
    expect([await unlisted(1), await unlisted(2), await unlisted(3), await unlisted(4)]).toEqual([
      3, 1, 0, 0,
    ]);
  });

  test('adds fresh counts of the current minute to what older buckets hold', async () => {
    const pipeline = new Pipeline({ closedShape: NARROW_SHAPE });
    // Five minutes: in each three fresh items x3, and d and e twice.
    for (let minute = 5; minute > 0; minute -= 1) {
      const atMs = START_MS - minute * MINUTE_MS;
      const fresh = [1, 2, 3].map((index) => ({ item: `${minute}-${index}`, count: 3, atMs }));
      const steady = ['d', 'e'].map((item) => ({ item, count: 2, atMs }));
      await pipeline.send([...fresh, ...steady]);
    }
    await pipeline.compactAll();
    const { items } = await pipeline.queries.top({ stream, window, k: 10 });
    expect(items.slice(0, 2)).toEqual([
      { rank: 1, item: 'd', count: 10, lower: 10, upper: 10 },
      { rank: 2, item: 'e', count: 10, lower: 10, upper: 10 },
    ]);
    for (const { count } of items.slice(2)) expect(count).toBe(3);
  });

  test('gives as many rows as asked for when there are that many items', async () => {
    const pipeline = new Pipeline();
    await pipeline.send(Array.from({ length: 1_000 }, (_, index) => ({ item: `${index}` })));
    await pipeline.compactAll();
    const { items } = await pipeline.queries.top({ stream, window, k: 100 });
    expect(items).toHaveLength(100);
  });

  test('says saturated, not a smaller number, when counts pass what a number can hold', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.sendEach(Array(4).fill({ count: 2 ** 52 }));
    await pipeline.foldAll();
    const answer = await pipeline.queries.top({ stream, window, k: 1 });
    expect(answer).toMatchObject({ total: Number.MAX_SAFE_INTEGER, saturated: true });
    expect(answer.items[0]?.count).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('is the same for the same data, whatever the order, partitions and steps', async () => {
    const events = Array.from({ length: 20 }, (_, index) => ({ item: `${index % 7}` }));
    const answerOf = async (partitionCount: number, sent: typeof events): Promise<unknown> => {
      const pipeline = new Pipeline({ partitionCount });
      await pipeline.sendEach(sent);
      if (partitionCount > 1) await pipeline.compactAll();
      await pipeline.foldAll();
      const { items, maxUnlisted, total } = await pipeline.queries.top({ stream, window, k: 5 });
      return { items, maxUnlisted, total };
    };
    const answer = await answerOf(1, events);
    expect(answer).toMatchObject({ total: 20 });
    expect(await answerOf(1, events.toReversed())).toEqual(answer);
    expect(await answerOf(3, events)).toEqual(answer);
  });
});

describe('distinct', () => {
  test('counts an actor once over minutes, hours and partitions', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    const ages = [0, 0, MINUTE_MS, HOUR_MS, 3 * HOUR_MS];
    await pipeline.sendEach(ages.map((age) => ({ actor: 'x', atMs: START_MS - age })));
    await pipeline.compactAll();
    const day = trailing(DAY_MS);
    expect(await pipeline.queries.distinct({ stream, window: day })).toMatchObject({
      estimate: 1,
      lower: 1,
      upper: 1,
      standardError: 0,
      exact: true,
      total: 5,
      withoutActor: 0,
    });
  });

  test('leaves out events without an actor and says how many', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ actor: 'x', count: 2 }, { count: 5 }, { actor: 'y' }]);
    await pipeline.foldAll();
    const answer = await pipeline.queries.distinct({ stream, window });
    expect(answer).toMatchObject({ estimate: 2, total: 8, withoutActor: 5 });
  });

  test('is never above the number of events, also when it is an estimate', async () => {
    const closedShape = { ...CLOSED_SHAPE, exactActors: 0 };
    const pipeline = new Pipeline({ closedShape });
    const actors = Array.from({ length: 3_000 }, (_, index) => `actor-${index}`);
    await pipeline.send(actors.map((actor) => ({ actor })));
    await pipeline.compactAll();
    const answer = await pipeline.queries.distinct({ stream, window });
    expect(answer.exact).toBe(false);
    expect(answer.upper).toBe(3_000);
    expect(answer.estimate).toBeLessThanOrEqual(3_000);
    expect(answer.estimate).toBeGreaterThan(3_000 * (1 - 5 * answer.standardError));
  });
});

describe('items', () => {
  test('are answered in the order asked for, an unknown one with 0 when exact', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'a', count: 2 }]);
    await pipeline.foldAll();
    const answer = await pipeline.queries.items({ stream, window, items: ['x', 'a', 'x'] });
    const unknown = {
      item: 'x',
      count: 0,
      lower: 0,
      upper: 0,
      belowNoiseFloor: false,
      blocked: false,
    };
    expect(answer.items).toEqual([
      unknown,
      { item: 'a', count: 2, lower: 2, upper: 2, belowNoiseFloor: false, blocked: false },
      unknown,
    ]);
  });

  test('never seen are below the noise floor in a sketch, heavy ones are not', async () => {
    const pipeline = new Pipeline({ closedShape: NARROW_SHAPE });
    const crowd = Array.from({ length: 500 }, (_, index) => ({ item: `${index}` }));
    await pipeline.send([{ item: 'heavy', count: 1_000 }, ...crowd]);
    await pipeline.compactAll();
    const items = ['never seen', 'heavy'];
    const answer = await pipeline.queries.items({ stream, window, items });
    const [unseen, heavy] = answer.items;
    expect(answer.exact).toBe(false);
    expect(unseen).toMatchObject({ lower: 0, belowNoiseFloor: true });
    expect(unseen?.upper).toBeGreaterThan(0);
    expect(heavy).toMatchObject({ belowNoiseFloor: false, blocked: false });
    expect(heavy?.lower).toBeGreaterThanOrEqual(1_000);
  });
});

describe('series', () => {
  test('of a stream sums up to the total of the window, point by point', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    const hourMs = bucketOf('hour', START_MS).startMs;
    const ages = Array.from({ length: 50 }, (_, index) => index * 7 * MINUTE_MS);
    await pipeline.sendEach(ages.map((age, index) => ({ atMs: START_MS - age, count: index + 1 })));
    await pipeline.compactAll();
    for (const [step, count] of [
      ['1h', 5],
      ['30m', 10],
      ['1m', 300],
    ] as const) {
      const asked = trailing(5 * HOUR_MS, hourMs);
      const { points, fromMs, toMs } = await pipeline.queries.series({
        stream,
        window: asked,
        step,
      });
      const { total } = await pipeline.queries.top({ stream, window: asked, k: 1 });
      expect(points).toHaveLength(count);
      expect(sumOf(points.map((point) => point.count))).toBe(total);
      expect([fromMs, toMs]).toEqual([hourMs - 5 * HOUR_MS, hourMs]);
    }
  });

  test('of an item has its bounds, and of a stream its distinct actors', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([
      { item: 'a', actor: 'x' },
      { item: 'a', actor: 'y' },
      { item: 'b', actor: 'x', atMs: START_MS - MINUTE_MS },
    ]);
    await pipeline.foldAll();
    const asked = {
      stream,
      window: trailing(2 * MINUTE_MS),
      step: '1m',
    };
    const ofItem = await pipeline.queries.series({ ...asked, item: 'a' });
    expect(ofItem.item).toBe('a');
    expect(ofItem.points).toMatchObject([{ count: 0 }, { count: 2, lower: 2, exact: true }]);
    expect(ofItem.points[0]).not.toHaveProperty('distinct');
    const ofStream = await pipeline.queries.series(asked);
    expect(ofStream).not.toHaveProperty('item');
    expect(ofStream.points.map(({ count, distinct }) => [count, distinct])).toEqual([
      [1, { estimate: 1, lower: 1, upper: 1, standardError: 0, exact: true }],
      [2, { estimate: 2, lower: 2, upper: 2, standardError: 0, exact: true }],
    ]);
  });

  test('ends with a point that ends now', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const { points, toMs } = await pipeline.queries.series({ stream, window, step: '1h' });
    expect(points.at(-1)).toMatchObject({ toMs: START_MS, count: 1 });
    expect(toMs).toBe(START_MS);
  });

  test('a point whose minutes are gone is widened to its hour and says so', async () => {
    const pipeline = new Pipeline();
    const hourMs = bucketOf('hour', START_MS - 40 * HOUR_MS).startMs;
    await pipeline.send([{ atMs: hourMs + 50 * MINUTE_MS }]);
    await pipeline.compactAll();
    const untilMs = hourMs + 20 * MINUTE_MS;
    const asked = {
      stream,
      window: trailing(HOUR_MS, untilMs),
      step: '1h',
    };
    expect((await pipeline.queries.series(asked)).points).toMatchObject([
      { fromMs: hourMs, toMs: hourMs + HOUR_MS, count: 1 },
    ]);
  });

  test('leaves out points of a time that is not kept any more, instead of calling it empty', async () => {
    const pipeline = new Pipeline();
    const oldestKeptMs = Date.UTC(2025, 9, 26);
    const untilMs = oldestKeptMs + 2 * DAY_MS;
    const asked = { stream, window: trailing(5 * DAY_MS, untilMs), step: '1d' };
    const { points, fromMs } = await pipeline.queries.series(asked);
    expect(points.map((point) => point.fromMs)).toEqual([oldestKeptMs, oldestKeptMs + DAY_MS]);
    expect(fromMs).toBe(oldestKeptMs);
    // A step that is kept in part begins where it is kept from.
    const weeks = { stream, window: trailing(21 * DAY_MS, untilMs), step: '1w' };
    expect((await pipeline.queries.series(weeks)).points).toMatchObject([
      { fromMs: oldestKeptMs, toMs: oldestKeptMs + DAY_MS },
      { fromMs: oldestKeptMs + DAY_MS, toMs: untilMs },
    ]);
  });

  test('of a time of which nothing is kept has no points', async () => {
    const untilMs = START_MS - 410 * DAY_MS;
    const asked = { stream, window: trailing(3 * DAY_MS, untilMs), step: '1d' };
    const answer = await new Pipeline().queries.series(asked);
    expect(answer.points).toEqual([]);
    expect(answer.fromMs).toBe(answer.toMs);
  });

  test('has days of a zone, also those with 23 and 25 hours', async () => {
    const startMs = Date.UTC(2026, 10, 2, 12);
    const pipeline = new Pipeline({ startMs });
    // Each hour an event; the night to November 1 has an hour more in New York.
    const ages = Array.from({ length: 72 }, (_, hours) => hours);
    await pipeline.send(ages.map((hours) => ({ atMs: startMs - hours * HOUR_MS })));
    await pipeline.compactAll();
    const window = { kind: 'range', fromMs: startMs - 60 * HOUR_MS, toMs: startMs } as const;
    const asked = { stream, window, step: '1d', zone: 'America/New_York' };
    const { points, zone, step } = await pipeline.queries.series(asked);
    expect(points.map((point) => point.count)).toEqual([4, 24, 25, 7]);
    expect({ zone, step }).toEqual({ zone: 'America/New_York', step: '1d' });
  });

  test('with a step that there is not is refused', async () => {
    const asked = { stream, window, step: '2mo' };
    await expect(new Pipeline().queries.series(asked)).rejects.toMatchObject({
      code: 'invalid_parameter',
      parameter: 'step',
    });
  });
});

describe('a window that cannot be answered', () => {
  test('is refused before anything is read', async () => {
    const pipeline = new Pipeline();
    const future = trailing(HOUR_MS, START_MS + 1);
    const { queries } = pipeline;
    await expect(queries.top({ stream, window: future, k: 1 })).rejects.toThrow(WindowError);
    await expect(queries.distinct({ stream, window: future })).rejects.toThrow(WindowError);
    const many = trailing(31 * DAY_MS);
    const asked = { stream, window: many, step: '1m' };
    await expect(queries.series(asked)).rejects.toMatchObject({ code: 'too_many_points' });
    expect(pipeline.watched.calls).toEqual([]);
  });
});
