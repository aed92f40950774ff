import { describe, expect, test } from 'vitest';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { decodeBatches } from '../../src/streams/batch.ts';
import { bucketOf, DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { BUCKET_PARTS_MAX, FOLD_BYTES_MAX, FOLD_ENTRIES_MAX } from '../../src/streams/limits.ts';
import type { AskedIndex, FoldCommit, PartitionIndex } from '../../src/streams/store-port.ts';
import { Pipeline, RETENTION, START_MS } from '../support/pipeline.ts';

const window = { kind: 'trailing', lengthMs: HOUR_MS, untilMs: null } as const;
const minute = bucketOf('minute', START_MS);

describe('the fold', () => {
  test('makes one part of each stream and bucket out of any number of entries', async () => {
    const pipeline = new Pipeline();
    const late = { atMs: START_MS - 30 * HOUR_MS };
    await pipeline.sendEach([{}, {}, { stream: 'b' }, { atMs: START_MS - MINUTE_MS }, {}, late]);
    const report = await pipeline.folder.foldPartition(0);
    expect(report).toEqual({ entryCount: 6, asideCount: 0, more: true });
    const buckets = (await pipeline.openParts()).map(({ bucket }) => bucket);
    expect(buckets).toHaveLength(3);
    expect(buckets).toEqual(
      expect.arrayContaining([
        minute,
        bucketOf('minute', START_MS - MINUTE_MS),
        bucketOf('hour', late.atMs),
      ]),
    );
    expect(await pipeline.openParts('b')).toHaveLength(1);
    expect(await totalOf(pipeline)).toBe(4);
    expect(await totalOf(pipeline, 'b')).toBe(1);
  });

  test('has nothing to do without entries, and writes nothing then', async () => {
    const pipeline = new Pipeline();
    const report = await pipeline.folder.foldPartition(0);
    expect(report).toEqual({ entryCount: 0, asideCount: 0, more: false });
    expect(pipeline.watched.callsOf('commitFold')).toEqual([]);
  });

  test('takes as many entries in one step as its limit, and the rest in the next', async () => {
    const pipeline = new Pipeline();
    for (let index = 0; index <= FOLD_ENTRIES_MAX; index += 1) await pipeline.send([{}]);
    const counts = [0, 0, 0];
    for (const step of counts.keys()) {
      counts[step] = (await pipeline.folder.foldPartition(0)).entryCount;
    }
    expect(counts).toEqual([FOLD_ENTRIES_MAX, 1, 0]);
    expect(await totalOf(pipeline)).toBe(FOLD_ENTRIES_MAX + 1);
  });

  test('asks for no more bytes in one step than its limit', async () => {
    const pipeline = new Pipeline();
    await pipeline.folder.foldPartition(0);
    expect(pipeline.watched.callsOf('readLog')[0]?.args).toEqual([
      0,
      FOLD_ENTRIES_MAX,
      FOLD_BYTES_MAX,
    ]);
  });

  test('lists the stream until the last of its days is over', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const dayEndMs = bucketOf('day', START_MS).startMs + DAY_MS;
    const keptUntilMs = dayEndMs + RETENTION.day + HOUR_MS;
    await pipeline.clock.advance(keptUntilMs - 1 - START_MS);
    expect(await pipeline.memory.listShares(0, null, 10)).toHaveLength(1);
    await pipeline.clock.advance(1);
    expect(await pipeline.memory.listShares(0, null, 10)).toHaveLength(0);
  });
});

describe('two folds of one partition at once', () => {
  test('count every entry once', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach(Array(10).fill({}));
    const reports = await Promise.all([1, 2, 3].map(() => pipeline.folder.foldPartition(0)));
    expect(reports.map(({ entryCount }) => entryCount).toSorted((a, b) => a - b)).toEqual([
      0, 0, 10,
    ]);
    expect(reports.every(({ more }) => more)).toBe(true);
    expect(await pipeline.folder.foldPartition(0)).toMatchObject({ more: false });
    expect(await totalOf(pipeline)).toBe(10);
  });

  test('one that was killed before its commit has changed nothing', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'commitFold') throw new StoreUnavailableError('killed');
      return run();
    };
    await expect(pipeline.folder.foldPartition(0)).rejects.toThrow(StoreUnavailableError);
    expect(await pipeline.openParts()).toEqual([]);
    pipeline.watched.around = (_call, run) => run();
    await pipeline.foldAll();
    expect(await totalOf(pipeline)).toBe(1);
  });
});

describe('what cannot be folded', () => {
  test('a damaged entry is moved aside as it is, and the rest is folded', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    const blob = Buffer.from('no batch at all');
    await appendRaw(pipeline, blob);
    await pipeline.send([{}]);
    const report = await pipeline.folder.foldPartition(0);
    expect(report).toEqual({ entryCount: 3, asideCount: 1, more: true });
    expect(asideOf(pipeline)).toEqual([{ reason: expect.stringContaining('batch'), blob }]);
    expect(await totalOf(pipeline)).toBe(2);
    const stats = await pipeline.memory.readStats(0);
    expect(stats).toMatchObject({ waitingEntries: 0, waitingBytes: blob.length });
    expect(stats.damagedEntries).toBe(1);
  });

  test('an entry that is damaged in one place is not counted in the others either', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}, { stream: 'b' }]);
    const [entry] = await pipeline.memory.readLog(0, 1, 2 ** 20);
    const blob = Buffer.from(entry!.blob);
    blob[blob.length - 1]! ^= 1;
    await appendRaw(pipeline, blob);
    await pipeline.foldAll();
    expect(await totalOf(pipeline)).toBe(1);
    expect(await totalOf(pipeline, 'b')).toBe(1);
    expect(asideOf(pipeline)).toMatchObject([{ blob }]);
  });

  test('an entry that has lost its bytes is shown as damage, not taken for an empty one', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    pipeline.watched.around = async ({ method }, run) => {
      const result = await run();
      if (method !== 'readLog') return result;
      return (result as { blob: Uint8Array }[]).map((entry) => ({ ...entry, blob: Buffer.of() }));
    };
    expect(await pipeline.folder.foldPartition(0)).toMatchObject({ asideCount: 1 });
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(1);
  });

  test('the share of a stream whose keys are broken is moved aside, and can be read', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'kept' }, { stream: 'broken', item: 'x' }]);
    await pipeline.send([{ stream: 'broken', item: 'y' }]);
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method !== 'readIndex') return run();
      const asked = args[1] as readonly AskedIndex[];
      const index = (await run()) as PartitionIndex;
      const shares = index.shares.map((one, at) => (asked[at]!.share === 'broken' ? null : one));
      return { ...index, shares };
    };
    const report = await pipeline.folder.foldPartition(0);
    expect(report).toEqual({ entryCount: 2, asideCount: 1, more: true });
    const [aside] = asideOf(pipeline);
    const groups = decodeBatches(aside!.blob, pipeline.partContext);
    expect(groups.map(({ share }) => share)).toEqual(['broken', 'broken']);
    expect(await totalOf(pipeline)).toBe(1);
  });

  test('an error that is a bug is not taken for damage', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'readIndex') throw new TypeError('a bug');
      return run();
    };
    await expect(pipeline.folder.foldPartition(0)).rejects.toThrow(TypeError);
    expect((await pipeline.memory.readStats(0)).waitingEntries).toBe(1);
  });
});

describe('the fold of a deleted stream', () => {
  test('skips entries that waited before the deletion and takes later ones', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: 'before' }, { stream: 'b' }]);
    await pipeline.registry.delete('default');
    await pipeline.send([{ item: 'after' }]);
    const report = await pipeline.folder.foldPartition(0);
    expect(report).toEqual({ entryCount: 2, asideCount: 0, more: true });
    const { items } = await pipeline.queries.top({ stream: 'default', window, k: 10 });
    expect(items.map(({ item }) => item)).toEqual(['after']);
    expect(await totalOf(pipeline, 'b')).toBe(1);
  });

  test('with nothing but old entries leaves no part and does not list it again', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.registry.delete('default');
    await pipeline.foldAll();
    expect(await pipeline.openParts()).toEqual([]);
    expect(await pipeline.memory.listShares(0, null, 10)).toEqual([]);
    expect((await pipeline.memory.readStats(0)).waitingEntries).toBe(0);
  });

  test('is begun anew when the deletion comes in between', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    let deletions = 0;
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'commitFold' && deletions === 0) {
        deletions += 1;
        await pipeline.memory.deleteShare(0, 'default', 'next');
      }
      return run();
    };
    expect(await pipeline.folder.foldPartition(0)).toEqual({
      entryCount: 0,
      asideCount: 0,
      more: true,
    });
    await pipeline.foldAll();
    expect(await totalOf(pipeline)).toBe(0);
    expect((await pipeline.memory.readStats(0)).waitingEntries).toBe(0);
  });
});

describe('a bucket that is full', () => {
  test('is compacted first, so that its parts stay within the limit', async () => {
    const pipeline = new Pipeline();
    await fillBucket(pipeline);
    expect(await pipeline.openParts()).toHaveLength(BUCKET_PARTS_MAX);
    await pipeline.send([{}]);
    expect(await pipeline.folder.foldPartition(0)).toMatchObject({ entryCount: 0, more: true });
    expect(await pipeline.openParts()).toHaveLength(0);
    await pipeline.foldAll();
    expect(await pipeline.openParts()).toHaveLength(1);
    expect(await totalOf(pipeline)).toBe(BUCKET_PARTS_MAX + 1);
  });

  test('does not hold up the fold of other buckets', async () => {
    const pipeline = new Pipeline();
    await fillBucket(pipeline);
    await pipeline.send([{ atMs: START_MS - MINUTE_MS }, { stream: 'b' }]);
    expect(await pipeline.folder.foldPartition(0)).toMatchObject({ entryCount: 1 });
    expect(await pipeline.openParts()).toHaveLength(BUCKET_PARTS_MAX + 1);
  });

  test('takes a last part when it has room for one', async () => {
    const pipeline = new Pipeline();
    for (let index = 0; index < BUCKET_PARTS_MAX - 1; index += 1) await foldOne(pipeline);
    await pipeline.send([{}]);
    expect(await pipeline.folder.foldPartition(0)).toMatchObject({ entryCount: 1 });
    expect(await pipeline.openParts()).toHaveLength(BUCKET_PARTS_MAX);
  });
});

async function fillBucket(pipeline: Pipeline): Promise<void> {
  for (let index = 0; index < BUCKET_PARTS_MAX; index += 1) await foldOne(pipeline);
}

async function foldOne(pipeline: Pipeline): Promise<void> {
  await pipeline.send([{}]);
  await pipeline.folder.foldPartition(0);
}

async function totalOf(pipeline: Pipeline, stream = 'default'): Promise<number> {
  return (await pipeline.queries.top({ stream, window, k: 1 })).total;
}

async function appendRaw(pipeline: Pipeline, blob: Uint8Array): Promise<void> {
  const attempt = pipeline.tags();
  await pipeline.memory.append(0, [
    { idSource: 'server', id: attempt, fingerprint: '', attempt, answer: '', blob },
  ]);
}

/** What the folds so far have set aside. */
function asideOf(pipeline: Pipeline) {
  return pipeline.watched
    .callsOf('commitFold')
    .flatMap(({ args }) => (args[1] as FoldCommit).aside);
}
