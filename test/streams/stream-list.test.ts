import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { bucketOf, DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';
import { stream, trailing } from '../support/questions.ts';

const window = trailing(HOUR_MS);

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
    const names = [
      '\u{10000}',
      '\uffff',
      'é',
      'a\x1e',
      'a\x1f',
      ...Array.from({ length: 20 }, (_, n) => `s${n}`),
    ];
    for (const name of names) {
      // Some on one partition, some on two, some on all of them.
      await pipeline.sendEach(Array(1 + (name.length % 3)).fill({ stream: name }));
    }
    await pipeline.foldAll();
    const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const limit of [1, 4, 7, 24, 25, 100]) {
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
