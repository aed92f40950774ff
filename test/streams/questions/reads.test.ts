import { beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import type { AskedIndex } from '../../../src/streams/store-port.ts';
import { Pipeline, START_MS } from '../../support/pipeline.ts';
import { stream, trailing } from '../../support/questions.ts';

describe('what a question reads', () => {
  let pipeline: Pipeline;

  beforeEach(async () => {
    pipeline = new Pipeline();
    const dimensions = [{ name: 'country', values: ['IN', 'BR'] }];
    await pipeline.registry.changeSettings(stream, { dimensions });
    // So many pairs that they are kept in a column of their own.
    const events = Array.from({ length: 1_000 }, (_, index) => ({
      item: `item-${index % 10}`,
      actor: `actor-${index}`,
      dims: { country: 'IN' },
      atMs: START_MS - 20 * MINUTE_MS,
    }));
    await pipeline.send(events);
    await pipeline.compactAll();
    pipeline.watched.calls = [];
  });

  /** For each index read: how many buckets of how many shares. */
  const indexes = (): [shares: number, buckets: number][] =>
    pipeline.watched.callsOf('readIndex').map(({ args }) => {
      const asked = args[1] as AskedIndex[];
      return [asked.length, asked.reduce((sum, { buckets }) => sum + buckets.length, 0)];
    });
  const columns = (): unknown[] =>
    pipeline.watched.callsOf('readSummaries').map(({ args }) => args[3]);

  test('are whole days, whole hours at their edges, and minutes at the edges of these', async () => {
    await pipeline.queries.top({ stream, window: trailing(30 * DAY_MS), k: 1 });
    // The clock shows 12:36; of a month ago hours are left, and no minutes.
    const minutes = 37;
    const hours = 12 + 12;
    expect(indexes()).toEqual([[1, minutes + hours + 29]]);
  });

  test('are both windows in one share, for movement', async () => {
    await pipeline.queries.top({ stream, window: trailing(HOUR_MS), k: 1, movement: true });
    expect(indexes()).toEqual([[1, 120]]);
  });

  test('are each bucket once, however many questions or points need it', async () => {
    const window = trailing(HOUR_MS);
    await pipeline.queries.answerAll([
      { type: 'top', stream, window, k: 1 },
      { type: 'distinct', stream, window },
      { type: 'series', stream, window, step: '1m' },
    ]);
    expect(indexes()).toEqual([[1, 60]]);
  });

  test('are the stream and each of its segments, for actors by a dimension', async () => {
    const window = trailing(HOUR_MS);
    await pipeline.queries.distinctBy({ stream, window, dimension: 'country' });
    expect(indexes()).toEqual([[4, 4 * 60]]);
  });

  test('are the actors of items only for questions about these', async () => {
    const window = trailing(HOUR_MS);
    await pipeline.queries.top({ stream, window, k: 1 });
    await pipeline.queries.distinct({ stream, window });
    expect(columns()).toEqual(['counts']);
    const { items } = await pipeline.queries.top({ stream, window, k: 1, by: 'actors' });
    expect(items).toMatchObject([{ count: 100 }]);
    expect(columns()).toContain('viewers');
  });
});
