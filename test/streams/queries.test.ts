import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
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

describe('the list of streams', () => {
  const listAll = async (pipeline: Pipeline, limit: number): Promise<string[][]> => {
    const pages: string[][] = [];
    let after: string | null = null;
    do {
      const page = await pipeline.queries.list(after, limit);
      pages.push(page.streams.map((entry) => entry.stream));
      after = page.next;
    } while (after !== null);
    return pages;
  };

  test('is in the order of bytes, each once, page by page over all partitions', async () => {
    const pipeline = new Pipeline({ partitionCount: 3 });
    const names = ['\u{10000}', '\uffff', 'é', ...Array.from({ length: 20 }, (_, n) => `s${n}`)];
    for (const name of names) {
      // Some on one partition, some on two, some on all of them.
      await pipeline.sendEach(Array(1 + (name.length % 3)).fill({ stream: name }));
    }
    await pipeline.foldAll();
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const limit of [1, 4, 7, 22, 23, 100]) {
      const pages = await listAll(pipeline, limit);
      expect(pages.flat()).toEqual(sorted);
      expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(limit);
    }
  });

  test('without streams is empty and has no next page', async () => {
    expect(await new Pipeline().queries.list(null, 10)).toEqual({
      streams: [],
      next: null,
      missing: [],
    });
  });

  test('names a partition that is gone, and fails when all are', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.sendEach([{ stream: 'on-1' }, { stream: 'on-0' }]);
    await pipeline.foldAll();
    pipeline.watched.around = async ({ args }, run) => {
      if (args[0] === 0) throw new StoreUnavailableError('gone');
      return run();
    };
    expect(await pipeline.queries.list(null, 10)).toEqual({
      streams: [{ stream: 'on-1' }],
      next: null,
      missing: ['partition 0'],
    });
    pipeline.watched.around = async () => {
      throw new StoreUnavailableError('gone');
    };
    await expect(pipeline.queries.list(null, 10)).rejects.toThrow(StoreUnavailableError);
  });
});

describe('the deletion of a stream', () => {
  test('takes effect at once on summaries, parts and waiting entries of every partition', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    const both = [{}, {}];
    await pipeline.sendEach(both);
    await pipeline.compactAll();
    await pipeline.sendEach(both);
    await pipeline.foldAll();
    await pipeline.sendEach(both);
    await pipeline.sendEach([{ stream: 'b' }, { stream: 'b' }]);
    await pipeline.registry.delete(stream);
    const total = async (name: string): Promise<number> =>
      (await pipeline.queries.top({ stream: name, window, k: 1 })).total;
    expect(await total(stream)).toBe(0);
    await pipeline.foldAll();
    expect(await total(stream)).toBe(0);
    expect(await total('b')).toBe(2);
    const { streams } = await pipeline.queries.list(null, 10);
    expect(streams).toEqual([{ stream: 'b' }]);
  });

  test('lets later events of the same minute start anew', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'old', actor: 'x' }]);
    await pipeline.compactAll();
    await pipeline.registry.delete(stream);
    await pipeline.send([{ item: 'new', actor: 'y', atMs: START_MS }]);
    await pipeline.compactAll();
    const { items } = await pipeline.queries.top({ stream, window, k: 10 });
    expect(items).toMatchObject([{ item: 'new', count: 1 }]);
    expect((await pipeline.queries.distinct({ stream, window })).estimate).toBe(1);
  });

  test('keeps keys: a retry of what was deleted is a duplicate and brings nothing back', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}], { key: '1' });
    await pipeline.foldAll();
    await pipeline.registry.delete(stream);
    expect(await pipeline.send([{}], { key: '1' })).toMatchObject({ accepted: 0, duplicate: 1 });
    await pipeline.foldAll();
    expect((await pipeline.queries.top({ stream, window, k: 1 })).total).toBe(0);
  });

  test('of a stream that nobody has written to is done, and one that fails says so', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.registry.delete('never written');
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'deleteShare' && args[0] === 1) throw new StoreUnavailableError('gone');
      return run();
    };
    await expect(pipeline.registry.delete(stream)).rejects.toThrow(StoreUnavailableError);
  });

  test('is done even when the memory of old summaries cannot be freed now', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'dropStaleSummaries') throw new StoreUnavailableError('gone');
      return run();
    };
    await pipeline.registry.delete(stream);
    expect((await pipeline.queries.top({ stream, window, k: 1 })).total).toBe(0);
  });

  test('frees every bucket that can hold something: the oldest, now, and the near future', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.delete(stream);
    const freed = pipeline.watched
      .callsOf('dropStaleSummaries')
      .flatMap(({ args }) => args[2] as { level: string; startMs: number }[])
      .map(({ level, startMs }) => `${level} ${startMs}`);
    const within = (level: 'minute' | 'hour', timeMs: number): string => {
      const bucket = bucketOf(level, timeMs);
      return `${bucket.level} ${bucket.startMs}`;
    };
    expect(freed).toEqual(
      expect.arrayContaining([
        within('minute', START_MS + MINUTE_MS),
        within('hour', START_MS + MINUTE_MS),
        // Expiry comes an hour after the stated time.
        within('minute', START_MS - 26 * HOUR_MS),
        within('hour', START_MS - 32 * DAY_MS - HOUR_MS),
      ]),
    );
    expect(new Set(freed).size).toBe(freed.length);
  });
});

describe('the generation of a stream', () => {
  test('changes with each deletion', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    const { queries } = pipeline;
    const generations = [await queries.generation(stream)];
    for (let round = 0; round < 3; round += 1) {
      await pipeline.registry.delete(stream);
      generations.push(await queries.generation(stream));
    }
    expect(new Set(generations).size).toBe(4);
    expect(await queries.generation('another')).toBe(generations[0]);
  });

  test('does not change by events, folds, compactions and time', async () => {
    const pipeline = new Pipeline({ partitionCount: 3 });
    const { queries } = pipeline;
    const expectUnchanged = async (generation: string): Promise<void> => {
      expect(await queries.generation(stream)).toBe(generation);
      // On one partition only: the others have nothing that makes them remember the stream.
      await pipeline.send([{}]);
      expect(await queries.generation(stream)).toBe(generation);
      await pipeline.compactAll();
      expect(await queries.generation(stream)).toBe(generation);
      await pipeline.clock.advance(3 * DAY_MS);
      await pipeline.compactDue();
      expect(await queries.generation(stream)).toBe(generation);
    };
    await expectUnchanged(await queries.generation(stream));
    await pipeline.registry.delete(stream);
    await expectUnchanged(await queries.generation(stream));
  });

  test('is not answered while a partition is gone', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    pipeline.watched.around = async ({ args }, run) => {
      if (args[0] === 1) throw new StoreUnavailableError('gone');
      return run();
    };
    await expect(pipeline.queries.generation(stream)).rejects.toThrow(StoreUnavailableError);
  });
});
