import { beforeEach, describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import { Pipeline, START_MS } from '../../support/pipeline.ts';
import { stream, trailing } from '../../support/questions.ts';

const window = trailing(HOUR_MS);
const india = { dimension: 'country', value: 'IN' };

describe('a question about a segment', () => {
  let pipeline: Pipeline;

  beforeEach(async () => {
    pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.registry.changeSettings(stream, {
      dimensions: [{ name: 'country', maxValues: 2 }, { name: 'device' }],
    });
    await pipeline.sendEach([
      { item: 'cricket', actor: 'x', count: 3, dims: { country: 'IN', device: 'tv' } },
      { item: 'cricket', actor: 'y', dims: { country: 'IN' } },
      { item: 'football', actor: 'x', count: 9, dims: { country: 'BR', device: 'tv' } },
      { item: 'football', actor: 'z', dims: {} },
    ]);
    await pipeline.compactAll();
  });

  test('counts only its events', async () => {
    const { queries } = pipeline;
    const asked = { stream, window, where: india };
    const top = await queries.top({ ...asked, k: 10 });
    expect(top).toMatchObject({ segment: india, total: 4, exact: true, missing: [] });
    expect(top.items).toMatchObject([{ item: 'cricket', count: 4 }]);
    expect(await queries.distinct(asked)).toMatchObject({ estimate: 2, segment: india });
    const { items } = await queries.items({ ...asked, items: ['football', 'cricket'] });
    expect(items.map(({ count }) => count)).toEqual([0, 4]);
    expect(await queries.itemDistinct({ ...asked, item: 'cricket' })).toMatchObject({
      estimate: 2,
      events: { count: 4 },
    });
    const { points } = await queries.series({ ...asked, step: '1h' });
    expect(points.reduce((sum, { count }) => sum + count, 0)).toBe(4);
    expect((await queries.top({ stream, window, k: 1 })).segment).toBeNull();
  });

  test('that never had an event is answered as empty', async () => {
    const where = { dimension: 'device', value: 'fridge' };
    const answer = await pipeline.queries.top({ stream, window, where, k: 10 });
    expect(answer).toMatchObject({ items: [], total: 0, exact: true, missing: [] });
  });

  test('of a dimension that the stream does not keep is refused before anything is read', async () => {
    const where = { dimension: 'city', value: 'IN' };
    pipeline.watched.calls = [];
    const refusal = { code: 'unknown_dimension', parameter: 'where' };
    const { queries } = pipeline;
    await expect(queries.top({ stream, window, where, k: 1 })).rejects.toMatchObject(refusal);
    await expect(queries.series({ stream, window, where, step: '1h' })).rejects.toMatchObject(
      refusal,
    );
    await expect(queries.distinctBy({ stream, window, dimension: 'city' })).rejects.toMatchObject({
      code: 'unknown_dimension',
      parameter: 'by',
    });
    expect(pipeline.watched.calls).toEqual([]);
  });

  test('of a value that has no segment says where its events are counted', async () => {
    await pipeline.sendEach([{ item: 'hockey', dims: { country: 'CA' } }]);
    await pipeline.foldAll();
    const where = { dimension: 'country', value: 'CA' };
    expect(await pipeline.queries.top({ stream, window, where, k: 1 })).toMatchObject({
      total: 0,
      missing: ['dimension country value CA: counted under other'],
    });
    const other = { dimension: 'country', value: 'other' };
    const rest = await pipeline.queries.top({ stream, window, where: other, k: 1 });
    expect(rest).toMatchObject({ total: 1, missing: [] });
  });

  test('names the time before the dimension was kept, and only if the window reaches it', async () => {
    const dimensions = ['country', 'device', 'plan'].map((name) => ({ name }));
    await pipeline.registry.changeSettings(stream, { dimensions });
    const profile = await pipeline.registry.of(stream);
    const sinceMs = profile.sinceMs('plan')!;
    const where = { dimension: 'plan', value: 'free' };
    const { missing } = await pipeline.queries.distinct({ stream, window, where });
    expect(missing).toEqual([`dimension plan before ${new Date(sinceMs).toISOString()}`]);
    await pipeline.clock.advance(3 * HOUR_MS);
    expect((await pipeline.queries.distinct({ stream, window, where })).missing).toEqual([]);
  });
});

describe('distinct actors by a dimension', () => {
  test('are those of the whole, of each value, and of nobody twice in the union', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.registry.changeSettings(stream, { dimensions: [{ name: 'country' }] });
    const atMs = START_MS - 5 * MINUTE_MS;
    await pipeline.sendEach([
      { actor: 'x', dims: { country: 'IN' } },
      { actor: 'y', dims: { country: 'IN' }, atMs },
      // Seen in both: once in the union, twice in the sum.
      { actor: 'x', dims: { country: 'BR' }, count: 2, atMs },
      { actor: 'z' },
      { count: 4, dims: { country: 'IN' } },
    ]);
    await pipeline.compactAll();
    const answer = await pipeline.queries.distinctBy({ stream, window, dimension: 'country' });
    expect(answer).toMatchObject({
      dimension: 'country',
      union: { estimate: 3, lower: 3, upper: 3, exact: true, standardError: 0 },
      sumOfParts: 3,
      total: 9,
      withoutActor: 4,
      without: 1,
      missing: [],
    });
    expect(answer.parts).toEqual([
      { value: 'IN', estimate: 2, lower: 2, upper: 2, standardError: 0, exact: true, total: 6 },
      { value: 'BR', estimate: 1, lower: 1, upper: 1, standardError: 0, exact: true, total: 2 },
    ]);
  });

  test('say from when on the dimension was kept', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ actor: 'x' }]);
    await pipeline.registry.changeSettings(stream, { dimensions: [{ name: 'country' }] });
    const sinceMs = (await pipeline.registry.of(stream)).sinceMs('country')!;
    const answer = await pipeline.queries.distinctBy({ stream, window, dimension: 'country' });
    expect(answer.missing).toEqual([`dimension country before ${new Date(sinceMs).toISOString()}`]);
  });

  test('are read at one moment in each partition', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.registry.changeSettings(stream, { dimensions: [{ name: 'country' }] });
    await pipeline.send(['IN', 'BR', 'CA'].map((country) => ({ dims: { country } })));
    await pipeline.foldAll();
    pipeline.watched.calls = [];
    await pipeline.queries.distinctBy({ stream, window, dimension: 'country' });
    expect(pipeline.watched.callsOf('readIndex')).toHaveLength(2);
  });
});
