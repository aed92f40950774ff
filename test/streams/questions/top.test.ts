import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import { CLOSED_SHAPE } from '../../../src/sketches/summary.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import { QuestionError } from '../../../src/streams/questions/question.ts';
import { Pipeline, START_MS } from '../../support/pipeline.ts';
import { NARROW_SHAPE, stream, trailing } from '../../support/questions.ts';

const window = trailing(HOUR_MS);
const lastMinutes = trailing(10 * MINUTE_MS);

describe('the rows of a ranking', () => {
  test('page by page are the whole ranking', async () => {
    const pipeline = new Pipeline();
    const counts = Array.from({ length: 25 }, (_, index) => 25 - index);
    await pipeline.send(counts.map((count) => ({ item: `item-${count}`, count })));
    await pipeline.compactAll();
    const whole = await pipeline.queries.top({ stream, window, k: 25 });
    const pages = [0, 10, 20].map((offset) =>
      pipeline.queries.top({ stream, window, k: 10, offset }),
    );
    const rows = (await Promise.all(pages)).flatMap(({ items }) => items);
    expect(rows).toEqual(whole.items);
    const beyond = await pipeline.queries.top({ stream, window, k: 10, offset: 25 });
    expect(beyond).toMatchObject({ items: [], offset: 25, maxUnlisted: 0, certainRanks: 25 });
  });

  test('are certain as far as no other item can have more', async () => {
    const pipeline = new Pipeline({ closedShape: NARROW_SHAPE });
    for (const minute of [1, 2]) {
      const atMs = START_MS - minute * MINUTE_MS;
      const crowd = Array.from({ length: 300 }, (_, n) => ({ item: `${minute}-${n}`, atMs }));
      const heavy = [900, 800, 700].map((count) => ({ item: `heavy-${count}`, count, atMs }));
      await pipeline.send([...crowd, ...heavy]);
    }
    await pipeline.compactAll();
    const { items, certainRanks } = await pipeline.queries.top({ stream, window, k: 8 });
    expect(items).toHaveLength(8);
    expect(certainRanks).toBe(3);
    const page = await pipeline.queries.top({ stream, window, k: 2, offset: 1 });
    expect(page.items.map(({ rank }) => rank)).toEqual([2, 3]);
    expect(page.certainRanks).toBe(3);
    const first = await pipeline.queries.top({ stream, window, k: 1 });
    expect(first.certainRanks).toBe(1);
  });

  test('are all certain in an exact answer, also where counts are equal', async () => {
    const pipeline = new Pipeline();
    await pipeline.send(['a', 'b', 'c', 'd'].map((item) => ({ item })));
    await pipeline.foldAll();
    expect(await pipeline.queries.top({ stream, window, k: 2 })).toMatchObject({ certainRanks: 2 });
    expect(await pipeline.queries.top({ stream, window, k: 9 })).toMatchObject({ certainRanks: 4 });
  });

  test('are at most as many as the stream allows', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.changeSettings(stream, { kMax: 20 });
    expect((await pipeline.queries.top({ stream, window, k: 20 })).k).toBe(20);
    const refused = pipeline.queries.top({ stream, window, k: 21 });
    await expect(refused).rejects.toThrow(QuestionError);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_parameter', parameter: 'k' });
  });
});

describe('the top by actors', () => {
  test('counts each actor of an item once over buckets and partitions', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    const bot = Array.from({ length: 50 }, (_, index) => ({
      item: 'refreshed',
      actor: 'bot',
      atMs: START_MS - index * MINUTE_MS,
    }));
    const crowd = ['x', 'y', 'z'].map((actor) => ({ item: 'liked', actor }));
    await pipeline.sendEach([...bot, ...crowd, { item: 'nobody', count: 7 }]);
    await pipeline.compactAll();
    const answer = await pipeline.queries.top({ stream, window, k: 10, by: 'actors' });
    expect(answer.items).toMatchObject([
      { rank: 1, item: 'liked', count: 3, lower: 3, upper: 3, events: 3 },
      { rank: 2, item: 'refreshed', count: 1, lower: 1, upper: 1, events: 50 },
    ]);
    expect(answer).toMatchObject({ by: 'actors', total: 60, exact: true, standardError: 0 });
  });

  test('is not exact where the actors of some items were dropped', async () => {
    const closedShape = { ...CLOSED_SHAPE, exactPairs: 0, viewerBytes: 160 };
    const pipeline = new Pipeline({ closedShape });
    const actors = ['x', 'y', 'z'];
    await pipeline.send([
      ...actors.map((actor) => ({ item: 'liked', actor })),
      ...Array.from({ length: 9 }, (_, index) => ({ item: `other-${index}`, actor: 'x' })),
    ]);
    await pipeline.compactAll();
    const answer = await pipeline.queries.top({ stream, window, k: 1, by: 'actors' });
    expect(answer).toMatchObject({ exact: false, maxUnlisted: 1, certainRanks: 1 });
    expect(answer.items).toMatchObject([{ item: 'liked', count: 3, lower: 3, upper: 3 }]);
  });

  test('cannot be weighted by age', async () => {
    const asked = { stream, window, k: 1, by: 'actors', halfLifeMs: HOUR_MS } as const;
    await expect(new Pipeline().queries.top(asked)).rejects.toMatchObject({
      code: 'invalid_parameter',
      parameter: 'decay',
    });
  });
});

describe('decay', () => {
  test('ranks by counts that halve with the age of the middle of their minute', async () => {
    const pipeline = new Pipeline();
    const ago = (minutes: number): number => START_MS - minutes * MINUTE_MS;
    await pipeline.send([
      { item: 'old', count: 10, atMs: ago(9) },
      { item: 'fresh', count: 3, atMs: ago(1) },
      { item: 'both', count: 1, atMs: ago(9) },
      { item: 'both', count: 1, atMs: ago(1) },
    ]);
    await pipeline.compactAll();
    const untilMs = Math.floor(START_MS / MINUTE_MS) * MINUTE_MS;
    const halfLifeMs = 2 * MINUTE_MS;
    const asked = { stream, window: trailing(10 * MINUTE_MS, untilMs), k: 10, halfLifeMs };
    const { items, maxUnlisted, exact, total } = await pipeline.queries.top(asked);
    const weight = (minutes: number): number => 2 ** (-(minutes - 0.5) / 2);
    const expected = [
      ['fresh', 3, 3 * weight(1)],
      ['both', 2, weight(1) + weight(9)],
      ['old', 10, 10 * weight(9)],
    ];
    expect(items.map(({ item, count, score }) => [item, count, score])).toEqual(
      expected.map(([item, count, score]) => [item, count, expect.closeTo(score as number, 12)]),
    );
    for (const { score, scoreLower } of items) expect(scoreLower).toBe(score);
    expect({ maxUnlisted, exact, total }).toEqual({ maxUnlisted: 0, exact: true, total: 15 });
  });

  test('tells the begin of an hour from its end, though the hour could be read as one', async () => {
    const pipeline = new Pipeline();
    const untilMs = Date.UTC(2026, 10, 30, 12);
    await pipeline.send([
      { item: 'early', count: 5, atMs: untilMs - 58 * MINUTE_MS },
      { item: 'late', atMs: untilMs - 2 * MINUTE_MS },
    ]);
    await pipeline.compactAll();
    const asked = { stream, window: trailing(HOUR_MS, untilMs), k: 2 };
    const plain = await pipeline.queries.top(asked);
    expect(plain.items.map(({ item }) => item)).toEqual(['early', 'late']);
    const decayed = await pipeline.queries.top({ ...asked, halfLifeMs: 10 * MINUTE_MS });
    expect(decayed.items.map(({ item }) => item)).toEqual(['late', 'early']);
  });

  test('takes the current minute, whose middle lies ahead, for as old as nothing', async () => {
    const startMs = Math.floor(START_MS / MINUTE_MS) * MINUTE_MS + 1_000;
    const pipeline = new Pipeline({ startMs });
    await pipeline.send([{ item: 'now', count: 4 }]);
    await pipeline.foldAll();
    const asked = { stream, window: lastMinutes, k: 1, halfLifeMs: MINUTE_MS };
    expect((await pipeline.queries.top(asked)).items[0]).toMatchObject({ count: 4, score: 4 });
  });

  test('weights bounds the same, so that they hold for the weighted truth', async () => {
    const pipeline = new Pipeline({ closedShape: NARROW_SHAPE });
    const ages = [1, 3, 5, 7];
    const truth = new Map<string, number>();
    const halfLifeMs = 3 * MINUTE_MS;
    const untilMs = Math.floor(START_MS / MINUTE_MS) * MINUTE_MS;
    for (const age of ages) {
      const events = Array.from({ length: 120 }, (_, index) => ({
        item: `item-${(index * index * age) % 60}`,
        count: 1 + (index % 5),
        atMs: untilMs - age * MINUTE_MS,
      }));
      await pipeline.send(events);
      for (const { item, count } of events) {
        const weight = 2 ** (-(age - 0.5) / 3);
        truth.set(item, (truth.get(item) ?? 0) + weight * count);
      }
    }
    await pipeline.compactAll();
    const asked = { stream, window: trailing(10 * MINUTE_MS, untilMs), k: 15, halfLifeMs };
    const { items, maxUnlisted, exact } = await pipeline.queries.top(asked);
    expect(exact).toBe(false);
    const shown = new Set(items.map(({ item }) => item));
    for (const { item, score = 0, scoreLower = 0 } of items) {
      expect(scoreLower).toBeLessThanOrEqual(truth.get(item)! + 1e-9);
      expect(score).toBeGreaterThanOrEqual(truth.get(item)! - 1e-9);
    }
    for (const [item, score] of truth) {
      if (!shown.has(item)) expect(score).toBeLessThanOrEqual(maxUnlisted + 1e-9);
    }
  });
});

describe('movement', () => {
  test('says which rank a row had in the window before, and what is new', async () => {
    const pipeline = new Pipeline();
    const before = { atMs: START_MS - 90 * MINUTE_MS };
    await pipeline.send([
      { item: 'fell', count: 9, ...before },
      { item: 'rose', count: 5, ...before },
      { item: 'gone', count: 7, ...before },
      { item: 'rose', count: 8 },
      { item: 'fell', count: 2 },
      { item: 'fresh', count: 1 },
    ]);
    await pipeline.compactAll();
    const answer = await pipeline.queries.top({ stream, window, k: 10, movement: true });
    expect(answer.items).toMatchObject([
      { item: 'rose', rank: 1, previousRank: 3, isNew: false },
      { item: 'fell', rank: 2, previousRank: 1, isNew: false },
      { item: 'fresh', rank: 3, previousRank: null, isNew: true },
    ]);
    expect(answer.previous).toEqual({
      fromMs: answer.fromMs - HOUR_MS,
      toMs: answer.fromMs,
      complete: true,
    });
    const without = await pipeline.queries.top({ stream, window, k: 10 });
    expect(without).not.toHaveProperty('previous');
    expect(without.items[0]).not.toHaveProperty('isNew');
  });

  test('calls nothing new while the window before is kept only in part', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'a' }]);
    await pipeline.foldAll();
    const long = trailing(300 * 24 * HOUR_MS);
    const answer = await pipeline.queries.top({ stream, window: long, k: 1, movement: true });
    expect(answer.items).toMatchObject([{ item: 'a', previousRank: null, isNew: false }]);
    expect(answer.previous?.complete).toBe(false);
  });

  test('calls nothing new while something cannot be read', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.sendEach([{ item: 'a' }, { item: 'a' }]);
    await pipeline.foldAll();
    pipeline.watched.around = async ({ args }, run) => {
      if (args[0] === 1) throw new StoreUnavailableError('gone');
      return run();
    };
    const answer = await pipeline.queries.top({ stream, window, k: 1, movement: true });
    expect(answer.items).toMatchObject([{ item: 'a', isNew: false }]);
    expect(answer.previous?.complete).toBe(false);
  });

  test('reads both windows at one moment', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.queries.top({ stream, window, k: 1, movement: true });
    expect(pipeline.watched.callsOf('readIndex')).toHaveLength(2);
  });
});
