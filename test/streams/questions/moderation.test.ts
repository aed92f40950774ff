import { beforeEach, describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import type { ModerationAction } from '../../../src/streams/moderation.ts';
import { Pipeline, START_MS } from '../../support/pipeline.ts';
import { stream, trailing } from '../../support/questions.ts';

const window = trailing(HOUR_MS);

describe('an item that moderation hides', () => {
  let pipeline: Pipeline;

  beforeEach(async () => {
    pipeline = new Pipeline();
    const atMs = START_MS - 40 * MINUTE_MS;
    await pipeline.send([
      { item: 'spam one', count: 9, actor: 'x', atMs },
      { item: 'spam two', count: 8, actor: 'y' },
      { item: 'news', count: 5, actor: 'z' },
      { item: 'song', count: 2, actor: 'z' },
    ]);
    await pipeline.compactAll();
  });

  const change = (action: ModerationAction, item: string): Promise<unknown> =>
    pipeline.registry.changeModeration(stream, [{ action, item }], { by: 'ann' });
  const topItems = async (k = 10): Promise<[number, string, number][]> => {
    const { items } = await pipeline.queries.top({ stream, window, k });
    return items.map(({ rank, item, count }) => [rank, item, count]);
  };

  test('leaves the ranking at once, ranks close up, and it comes back with its count', async () => {
    const before = await topItems();
    await change('block', 'spam one');
    expect(await topItems(2)).toEqual([
      [1, 'spam two', 8],
      [2, 'news', 5],
    ]);
    await change('unblock', 'spam one');
    expect(await topItems()).toEqual(before);
  });

  test('by a prefix leaves too, and totals and actors go on to count everything', async () => {
    const changes = [{ action: 'block', prefix: 'spam' } as const];
    await pipeline.registry.changeModeration(stream, changes, { by: 'ann' });
    expect(await topItems()).toEqual([
      [1, 'news', 5],
      [2, 'song', 2],
    ]);
    const byActors = await pipeline.queries.top({ stream, window, k: 9, by: 'actors' });
    expect(byActors.items.map(({ item }) => item)).toEqual(['news', 'song']);
    expect(byActors.total).toBe(24);
    expect((await pipeline.queries.distinct({ stream, window })).estimate).toBe(3);
  });

  test('has a count of 0 and says blocked wherever it is asked for by name', async () => {
    await change('block', 'spam one');
    const { queries } = pipeline;
    const { items } = await queries.items({ stream, window, items: ['spam one', 'news'] });
    const nothing = { count: 0, lower: 0, upper: 0 };
    expect(items).toMatchObject([
      { ...nothing, blocked: true, belowNoiseFloor: false },
      { count: 5, blocked: false },
    ]);
    const series = await queries.series({ stream, window, step: '1m', item: 'spam one' });
    expect(series.blocked).toBe(true);
    for (const point of series.points) expect(point).toMatchObject(nothing);
    expect(await queries.itemDistinct({ stream, window, item: 'spam one' })).toMatchObject({
      estimate: 0,
      upper: 0,
      blocked: true,
      events: nothing,
    });
  });

  test('has no rank in the window before either', async () => {
    await pipeline.clock.advance(40 * MINUTE_MS);
    await pipeline.send([{ item: 'news' }]);
    await pipeline.foldAll();
    const asked = { stream, window: trailing(30 * MINUTE_MS), k: 5, movement: true };
    const news = { item: 'news', rank: 1, isNew: false };
    const before = await pipeline.queries.top(asked);
    expect(before.items).toMatchObject([{ ...news, previousRank: 2 }]);
    await change('block', 'spam two');
    const after = await pipeline.queries.top(asked);
    expect(after.items).toMatchObject([{ ...news, previousRank: 1 }]);
  });

  test('waits for a decision in mode review, and is shown once it is allowed', async () => {
    await pipeline.registry.changeSettings(stream, { mode: 'review' });
    expect(await topItems()).toEqual([]);
    await change('block', 'spam one');
    await change('allow', 'news');
    expect(await topItems()).toEqual([[1, 'news', 5]]);
    const queue = await pipeline.queries.moderationQueue({ stream, window, k: 10 });
    expect(queue.items).toEqual([
      { item: 'spam two', count: 8, lower: 8, upper: 8 },
      { item: 'song', count: 2, lower: 2, upper: 2 },
    ]);
    const one = await pipeline.queries.moderationQueue({ stream, window, k: 1 });
    expect(one.items).toHaveLength(1);
  });

  test('is what nobody has allowed in mode allowlist, and nothing waits', async () => {
    await pipeline.registry.changeSettings(stream, { mode: 'allowlist' });
    await change('allow', 'song');
    expect(await topItems()).toEqual([[1, 'song', 2]]);
    const queue = await pipeline.queries.moderationQueue({ stream, window, k: 10 });
    expect(queue.items).toEqual([]);
  });
});
