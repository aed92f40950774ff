import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { DAY_MS, HOUR_MS } from '../../src/streams/buckets.ts';
import { Pipeline } from '../support/pipeline.ts';

async function streamsOf(pipeline: Pipeline): Promise<string[]> {
  return [...(await pipeline.registryStore.readTags()).keys()].sort();
}

describe('the upkeep of the registry', () => {
  test('drops documents that say nothing once all events have expired', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.registry.changeSettings('with settings', { kMax: 100 });
    const lists = [{ action: 'block' as const, item: 'x' }];
    await pipeline.registry.changeModeration('with lists', lists, { by: 'm' });
    await pipeline.send([{ stream: 'a' }, { stream: 'with settings' }]);
    await pipeline.compactAll();
    for (let visit = 0; visit < 3; visit += 1) await pipeline.upkeep.run();
    expect(await streamsOf(pipeline)).toEqual(['a', 'with lists', 'with settings']);
    await pipeline.clock.advance(402 * DAY_MS);
    await pipeline.upkeep.run();
    await pipeline.upkeep.run();
    expect(await streamsOf(pipeline)).toEqual(['with lists', 'with settings']);
  });

  test('does not drop the document of a stream whose events are on their way', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: 'new' }]);
    await pipeline.upkeep.run();
    expect(await streamsOf(pipeline)).toEqual(['new']);
    await pipeline.foldAll();
    await pipeline.clock.advance(HOUR_MS);
    await pipeline.upkeep.run();
    expect(await streamsOf(pipeline)).toEqual(['new']);
  });

  test('gives streams with events a document that was lost, as far as there is room', async () => {
    const pipeline = new Pipeline({ partitionCount: 2, maxStreams: 2 });
    await pipeline.sendEach([{ stream: 'b' }, { stream: 'a\x1f' }]);
    await pipeline.foldAll();
    for (const { stream, tag } of await pipeline.registry.documents()) {
      await pipeline.registry.forget([{ stream, tag }]);
    }
    await pipeline.send([{ stream: 'c' }]);
    expect(await streamsOf(pipeline)).toEqual(['c']);
    await pipeline.upkeep.run();
    expect(await streamsOf(pipeline)).toEqual(['a\x1f', 'c']);
  });

  test('drops nothing while a partition is gone', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.send([{ stream: 'a' }]);
    pipeline.watched.around = async ({ args: [partition] }, run) => {
      if (partition === 1) throw new StoreUnavailableError('gone');
      return run();
    };
    await expect(pipeline.upkeep.run()).rejects.toThrow(StoreUnavailableError);
    await expect(pipeline.upkeep.run()).rejects.toThrow(StoreUnavailableError);
    expect(await streamsOf(pipeline)).toEqual(['a']);
  });
});
