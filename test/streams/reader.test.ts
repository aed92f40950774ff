import { describe, expect, test } from 'vitest';
import { BrokenStreamError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { type Bucket, bucketOf, DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { LAGGING_MS, READ_ATTEMPTS_MAX } from '../../src/streams/limits.ts';
import type { PartitionIndex, StoredColumn } from '../../src/streams/store-port.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';
import { readDefault, totalOf } from '../support/reads.ts';

const minute = bucketOf('minute', START_MS);
const hour = bucketOf('hour', START_MS);

describe('a read', () => {
  test('holds closed summaries and open parts, in the order of calendar and partitions', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    const times = [START_MS, START_MS, START_MS - HOUR_MS, START_MS - HOUR_MS];
    await pipeline.sendEach(times.map((atMs) => ({ atMs })));
    await pipeline.compactAll();
    const nowMs = pipeline.clock.nowMs();
    await pipeline.sendEach([{ atMs: nowMs }, { atMs: nowMs }]);
    await pipeline.foldAll();
    const { summaries } = await readDefault(pipeline, {
      kind: 'trailing',
      lengthMs: 3 * HOUR_MS,
      untilMs: null,
    });
    const startsMs = summaries.map(({ bucket }) => bucket.startMs);
    expect(startsMs).toEqual(startsMs.toSorted((a, b) => a - b));
    expect(totalOf(summaries)).toBe(6);
    expect(summaries).toHaveLength(6);
  });

  test('leaves out what lies a minute before and a minute after the window', async () => {
    const pipeline = new Pipeline();
    const fromMs = hour.startMs - 10 * MINUTE_MS;
    const toMs = hour.startMs + 10 * MINUTE_MS;
    const times = [fromMs - 1, fromMs, toMs - 1, toMs];
    const expectInside = async (): Promise<void> => {
      const { summaries } = await readDefault(pipeline, {
        kind: 'trailing',
        lengthMs: toMs - fromMs,
        untilMs: toMs,
      });
      expect(totalOf(summaries)).toBe(2);
    };
    await pipeline.sendEach(times.map((atMs) => ({ atMs })));
    await pipeline.foldAll();
    await expectInside();
    await pipeline.compactAll();
    await expectInside();
  });

  test('of a window of which nothing is kept asks for nothing but the state of the log', async () => {
    const pipeline = new Pipeline();
    const untilMs = START_MS - 40 * DAY_MS;
    const { summaries, missing } = await readDefault(pipeline, {
      kind: 'trailing',
      lengthMs: HOUR_MS,
      untilMs,
    });
    expect({ summaries, missing }).toEqual({ summaries: [], missing: [] });
    expect(pipeline.watched.calls.map(({ method }) => method)).toEqual(['readIndex']);
  });
});

describe('a read that is overtaken', () => {
  test('by a compaction begins anew, and counts nothing twice or not at all', async () => {
    for (const method of ['readParts', 'readSummaries'] as const) {
      const pipeline = new Pipeline();
      await pipeline.send([{}]);
      await pipeline.compactAll();
      await pipeline.send([{ atMs: START_MS }]);
      await pipeline.foldAll();
      await pipeline.clock.advance(2 * MINUTE_MS);
      let isFirst = true;
      pipeline.watched.around = async (call, run) => {
        if (call.method === method && isFirst) {
          isFirst = false;
          await pipeline.compactDue();
        }
        return run();
      };
      const { summaries, missing } = await readDefault(pipeline);
      expect(isFirst).toBe(false);
      expect(summaries.map(({ summary }) => summary.total)).toEqual([2]);
      expect(missing).toEqual([]);
    }
  });

  test('by a deletion gives the new generation', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    let isFirst = true;
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'readParts' && isFirst) {
        isFirst = false;
        await pipeline.memory.deleteShare(0, 'default', 'next');
      }
      return run();
    };
    expect((await readDefault(pipeline)).summaries).toEqual([]);
  });

  test('takes no summary for another one that has come in its place', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    pipeline.watched.calls = [];
    pipeline.watched.around = async ({ method }, run) => {
      const result = await run();
      if (method !== 'readSummaries') return result;
      return (result as object[]).map((stored) => ({ ...stored, tag: 'of another' }));
    };
    // The only partition changes at each attempt.
    await expect(readDefault(pipeline)).rejects.toThrow(StoreUnavailableError);
    expect(pipeline.watched.callsOf('readIndex')).toHaveLength(READ_ATTEMPTS_MAX);
  });

  test('succeeds at its last attempt, and gives up after it', async () => {
    for (const [failures, missing] of [
      [READ_ATTEMPTS_MAX - 1, []],
      [READ_ATTEMPTS_MAX, ['partition 0']],
    ] as const) {
      const pipeline = new Pipeline({ partitionCount: 2 });
      await pipeline.sendEach([{}, {}]);
      await pipeline.foldAll();
      let left: number = failures;
      pipeline.watched.around = async ({ method, args }, run) => {
        if (method !== 'readParts' || args[0] !== 0 || left === 0) return run();
        left -= 1;
        return [null];
      };
      const result = await readDefault(pipeline);
      expect(result.missing).toEqual(missing);
      expect(result.summaries).toHaveLength(2 - missing.length);
    }
  });
});

describe('decoded summaries', () => {
  test('are cached by tag: what has not changed is read once', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await readDefault(pipeline);
    pipeline.watched.calls = [];
    const { summaries } = await readDefault(pipeline);
    expect(summaries).toHaveLength(2);
    expect(pipeline.watched.calls.map(({ method }) => method)).toEqual(['readIndex']);
    await pipeline.send([{ atMs: START_MS }]);
    await pipeline.compactAll();
    pipeline.watched.calls = [];
    await readDefault(pipeline);
    const [readSummaries] = pipeline.watched.callsOf('readSummaries');
    expect(readSummaries?.args[2]).toHaveLength(2);
    expect(pipeline.watched.callsOf('readParts')).toEqual([]);
  });

  test('stay within the bytes that are set, and answers are the same', async () => {
    const totals = async (pipeline: Pipeline): Promise<number[]> => {
      for (let minute = 0; minute < 20; minute += 1) {
        const items = Array.from({ length: 20 }, (_, index) => ({
          item: `item-${minute}-${index}`,
          atMs: START_MS - minute * MINUTE_MS,
        }));
        await pipeline.send(items);
      }
      await pipeline.compactAll();
      const found: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        const { summaries } = await readDefault(pipeline);
        found.push(totalOf(summaries));
        expect(pipeline.reader.cachedBytes).toBeLessThanOrEqual(cacheBytes);
      }
      return found;
    };
    const cacheBytes = 5_000;
    const small = new Pipeline({ cacheBytes });
    expect(await totals(small)).toEqual([400, 400, 400]);
    expect(small.reader.cachedBytes).toBeGreaterThan(0);
  });

  test('that are larger than the whole cache are used and not kept', async () => {
    const pipeline = new Pipeline({ cacheBytes: 100 });
    await pipeline.send([{}]);
    await pipeline.compactAll();
    expect((await readDefault(pipeline)).summaries).toHaveLength(1);
    expect(pipeline.reader.cachedBytes).toBe(0);
  });
});

describe('what cannot be read', () => {
  const minuteName = 'minute:2026-11-30T12:34Z';

  test('a partition that is gone is named, and the rest is answered', async () => {
    const pipeline = new Pipeline({ partitionCount: 3 });
    await pipeline.sendEach([{}, {}, {}]);
    await pipeline.foldAll();
    for (const error of [new StoreUnavailableError('gone'), new BrokenStreamError('broken')]) {
      pipeline.watched.around = async ({ args }, run) => {
        if (args[0] === 1) throw error;
        return run();
      };
      const result = await readDefault(pipeline);
      expect(result.missing).toEqual(['partition 1']);
      expect(result.summaries).toHaveLength(2);
    }
  });

  test('with every partition gone there is no answer', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    pipeline.watched.around = async () => {
      throw new StoreUnavailableError('gone');
    };
    await expect(readDefault(pipeline)).rejects.toThrow(StoreUnavailableError);
  });

  test('an error that is a bug is not taken for a partition that is gone', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    pipeline.watched.around = async ({ args }, run) => {
      if (args[0] === 1) throw new TypeError('a bug');
      return run();
    };
    await expect(readDefault(pipeline)).rejects.toThrow(TypeError);
  });

  test('a damaged summary is named by its bucket, and the other bucket is answered', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach([{}, { atMs: START_MS - MINUTE_MS }]);
    await pipeline.compactAll();
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method !== 'readSummaries') return run();
      const buckets = args[2] as Bucket[];
      const at = buckets.findIndex(({ startMs }) => startMs === minute.startMs);
      const stored = (await run()) as StoredColumn[];
      return stored.map((one, index) =>
        index === at ? { tag: one.tag, blob: Buffer.from('damaged') } : one,
      );
    };
    const { summaries, missing } = await readDefault(pipeline);
    expect(missing).toEqual([`partition 0 ${minuteName}`]);
    expect(summaries).toHaveLength(1);
  });

  test('a damaged part is named by its bucket, and the other bucket is answered', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach([{}, { atMs: START_MS - MINUTE_MS }]);
    await pipeline.foldAll();
    const parts = await pipeline.openParts();
    const damaged = parts.find(({ bucket }) => bucket.startMs === minute.startMs)?.tag;
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method !== 'readParts') return run();
      const tags = args[2] as string[];
      const blobs = (await run()) as Uint8Array[];
      return blobs.map((blob, index) => (tags[index] === damaged ? Buffer.from('damaged') : blob));
    };
    const { summaries, missing } = await readDefault(pipeline);
    expect(missing).toEqual([`partition 0 ${minuteName}`]);
    expect(summaries).toHaveLength(1);
  });

  test('a key that holds no summary is named by its bucket', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    pipeline.watched.around = async ({ method }, run) => {
      const result = await run();
      if (method !== 'readIndex') return result;
      const index = result as PartitionIndex;
      const shares = index.shares.map((share) => {
        const [, ...tags] = share!.summaryTags;
        return { ...share, summaryTags: ['broken', ...tags] };
      });
      return { ...index, shares };
    };
    const { summaries, missing } = await readDefault(pipeline);
    expect(missing).toEqual(['partition 0 minute:2026-11-30T11:35Z']);
    expect(summaries).toHaveLength(1);
  });

  test('a bucket is named once, however much of it is damaged', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method !== 'readParts') return run();
      return (args[2] as string[]).map(() => Buffer.from('damaged'));
    };
    expect((await readDefault(pipeline)).missing).toEqual([`partition 0 ${minuteName}`]);
  });
});

describe('the time of a read', () => {
  test('is now when nothing waits', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(HOUR_MS);
    expect(await readDefault(pipeline)).toMatchObject({
      asOfMs: START_MS + HOUR_MS,
      lagging: false,
    });
  });

  test('is that of the oldest entry that waits in any partition', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.send([{}]);
    await pipeline.clock.advance(1_000);
    await pipeline.send([{}]);
    await pipeline.clock.advance(1_000);
    expect(await readDefault(pipeline)).toMatchObject({ asOfMs: START_MS, lagging: false });
    // The first batch went to partition 1.
    await pipeline.folder.foldPartition(1);
    expect((await readDefault(pipeline)).asOfMs).toBe(START_MS + 1_000);
  });

  test('lags from the first millisecond above the limit on', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.clock.advance(LAGGING_MS);
    expect((await readDefault(pipeline)).lagging).toBe(false);
    await pipeline.clock.advance(1);
    expect(await readDefault(pipeline)).toMatchObject({ asOfMs: START_MS, lagging: true });
    await pipeline.foldAll();
    expect((await readDefault(pipeline)).lagging).toBe(false);
  });

  test("is never later than now, whatever the store's clock says", async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    pipeline.clock.jumpTo(START_MS - HOUR_MS);
    expect((await readDefault(pipeline)).asOfMs).toBe(START_MS - HOUR_MS);
  });
});
