import { describe, expect, test } from 'vitest';
import { decodeSummary } from '../../src/sketches/summary-codec.ts';
import type { Summary } from '../../src/sketches/summary.ts';
import { type Bucket, bucketOf, DAY_MS, HOUR_MS } from '../../src/streams/buckets.ts';
import { REGISTRY_FRESH_MS } from '../../src/streams/limits.ts';
import { shareKeyOf } from '../../src/streams/shares.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';

const COUNTRY = { dimensions: [{ name: 'country' }] };
const INDIA = shareKeyOf('default', { dimension: 'country', value: 'IN' });

/** The closed summary of a bucket; null when there is none. */
async function closed(pipeline: Pipeline, share: string, bucket: Bucket): Promise<Summary | null> {
  const [column] = await pipeline.memory.readSummaries(0, share, [bucket], 'counts');
  return column === null || column === undefined
    ? null
    : decodeSummary(column.blob, pipeline.closedContext);
}

describe('what folds and compacts', () => {
  test('carries segments like streams, and lists streams only', async () => {
    const pipeline = new Pipeline();
    await pipeline.registry.changeSettings('default', COUNTRY);
    await pipeline.send([
      { item: 'a', count: 2, dims: { country: 'IN' } },
      { item: 'a', count: 3, dims: { country: 'EG' } },
    ]);
    await pipeline.compactAll();
    for (const level of ['minute', 'hour', 'day'] as const) {
      const bucket = bucketOf(level, START_MS);
      expect((await closed(pipeline, 'default', bucket))?.total).toBe(5);
      expect((await closed(pipeline, INDIA, bucket))?.total).toBe(2);
    }
    const listed = await pipeline.memory.listShares(0, null, 10);
    expect(listed.map(({ share }) => share)).toEqual(['default']);
  });

  test("keeps a stream's summaries as long as that stream's settings say", async () => {
    const pipeline = new Pipeline();
    const retention = { minute: 2 * HOUR_MS, hour: 5 * HOUR_MS };
    await pipeline.registry.changeSettings('short', { retention });
    await pipeline.send([{ stream: 'short' }, { stream: 'default' }]);
    await pipeline.compactAll();
    const [minute, hour] = [bucketOf('minute', START_MS), bucketOf('hour', START_MS)];
    await pipeline.clock.advance(4 * HOUR_MS);
    expect(await closed(pipeline, 'short', minute)).toBeNull();
    expect(await closed(pipeline, 'default', minute)).not.toBeNull();
    expect(await closed(pipeline, 'short', hour)).not.toBeNull();
    await pipeline.clock.advance(4 * HOUR_MS);
    expect(await closed(pipeline, 'short', hour)).toBeNull();
    expect((await closed(pipeline, 'short', bucketOf('day', START_MS)))?.total).toBe(1);
  });

  test("makes sketches of the size that the stream's settings ask for, whatever parts are", async () => {
    const limits = { exactItems: 10, exactPairs: 10 };
    const { partContext, closedContext } = new Pipeline();
    const pipeline = new Pipeline({
      closedShape: { ...closedContext.shape, ...limits },
      // Two parts together are a sketch before they enter any summary.
      partShape: { ...partContext.shape, exactItems: 20 },
    });
    const send = async (half: number): Promise<void> => {
      const items = Array.from({ length: 15 }, (_, index) => `${half}-${index}`);
      await pipeline.send(items.map((item) => ({ item })));
      await pipeline.foldAll();
    };
    const dayAfter = async (epsilon: number, delta: number): Promise<unknown> => {
      await pipeline.registry.changeSettings('default', { epsilon, delta });
      await pipeline.clock.advance(DAY_MS);
      const day = bucketOf('day', pipeline.clock.nowMs());
      await send(1);
      await send(2);
      await pipeline.compactAll();
      const summary = await closed(pipeline, 'default', day);
      expect(summary?.total).toBe(30);
      const { items } = summary!.state();
      return 'cells' in items ? items.cells : null;
    };
    expect(await dayAfter(0.01, 0.1)).toMatchObject({ width: 512, depth: 3 });
    expect(await dayAfter(0.00005, 0.0005)).toMatchObject({ width: 65_536, depth: 8 });
  });

  test('leaves a summary that is there as large as it is, and reads it on', async () => {
    const { closedContext } = new Pipeline();
    const closedShape = { ...closedContext.shape, exactItems: 10 };
    const pipeline = new Pipeline({ closedShape });
    const items = Array.from({ length: 15 }, (_, index) => ({ item: `${index}` }));
    await pipeline.send(items);
    await pipeline.compactAll();
    await pipeline.registry.changeSettings('default', { epsilon: 0.01, delta: 0.1 });
    await pipeline.send(items);
    await pipeline.compactAll();
    const summary = await closed(pipeline, 'default', bucketOf('day', START_MS));
    expect(summary).toMatchObject({ total: 30, incomplete: false });
    expect(summary?.state().items).toMatchObject({ cells: { width: 16_384, depth: 5 } });
  });

  test('goes on for a stream with a damaged document', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: 'bad' }, { stream: 'good' }]);
    const [document] = await pipeline.registryStore.readDocuments(['bad']);
    const put = { name: 'bad', expectedTag: document!.tag, tag: pipeline.tags(), text: '{' };
    await pipeline.registryStore.putDocuments([put], 10);
    await pipeline.clock.advance(REGISTRY_FRESH_MS);
    await pipeline.compactAll();
    for (const stream of ['bad', 'good']) {
      expect((await closed(pipeline, stream, bucketOf('day', START_MS)))?.total).toBe(1);
    }
  });
});

test('the deletion of a stream leaves nothing of its segments, nor does a dimension taken away', async () => {
  const pipeline = new Pipeline({ partitionCount: 2 });
  const settings = { dimensions: [{ name: 'country' }, { name: 'device' }] };
  await pipeline.registry.changeSettings('default', settings);
  const event = { item: 'the item', dims: { country: 'IN', device: 'the device' } };
  await pipeline.sendEach([event, event]);
  await pipeline.compactAll();
  await pipeline.sendEach([event, event]);
  expect(pipeline.memory.everythingStored()).toContain('the device');
  await pipeline.registry.changeSettings('default', COUNTRY);
  await pipeline.compactAll();
  const held = async (share: string): Promise<number> => {
    const day = bucketOf('day', START_MS);
    const [column] = await pipeline.memory.readSummaries(1, share, [day], 'counts');
    return column === null || column === undefined
      ? 0
      : decodeSummary(column.blob, pipeline.closedContext).total;
  };
  const device = shareKeyOf('default', { dimension: 'device', value: 'the device' });
  expect(await held(INDIA)).toBe(2);
  expect(await held(device)).toBe(0);
  await pipeline.registry.delete('default');
  await pipeline.clock.advance(DAY_MS);
  await pipeline.foldAll();
  expect(await held(INDIA)).toBe(0);
  expect(await held('default')).toBe(0);
  expect((await pipeline.registry.of('default')).settings.dimensions).toEqual([]);
});
