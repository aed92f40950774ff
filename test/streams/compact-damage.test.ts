import { describe, expect, test } from 'vitest';
import { bucketEndMs, bucketOf, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import type { AskedIndex, CompactionCommit, PartitionIndex } from '../../src/streams/store-port.ts';
import {
  commitsOf,
  countsOf,
  dueAt,
  foldRawPart,
  putRawSummary,
  summaryAt,
} from '../support/compacted.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';

const minute = bucketOf('minute', START_MS);
const hour = bucketOf('hour', START_MS);

describe('damage', () => {
  const minuteName = 'partition 0 minute:2026-11-30T12:34Z';
  const hourName = 'partition 0 hour:2026-11-30T12:00Z';
  const wholeHour = { kind: 'trailing', lengthMs: HOUR_MS, untilMs: bucketEndMs(hour) } as const;
  const untilMinute = {
    kind: 'trailing',
    lengthMs: 2 * MINUTE_MS,
    untilMs: bucketEndMs(minute) + MINUTE_MS,
  } as const;

  test('of a part is moved aside, and minute and hour say that something is missing', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    const blob = Buffer.from('damaged');
    await foldRawPart(pipeline, minute, blob);
    await pipeline.compactAll();
    expect(await pipeline.openParts()).toEqual([]);
    expect(commitsOf(pipeline).flatMap(({ aside }) => aside)).toEqual([
      { reason: expect.stringContaining('summary'), blob },
    ]);
    await pipeline.clock.advance(HOUR_MS);
    const atMinute = await pipeline.queries.top({ stream: 'default', window: untilMinute, k: 1 });
    expect(atMinute).toMatchObject({ total: 1, missing: [minuteName] });
    const atHour = await pipeline.queries.top({ stream: 'default', window: wholeHour, k: 1 });
    expect(atHour).toMatchObject({ total: 1, missing: [hourName] });
  });

  test('of a part stays with its bucket: other minutes are whole', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ atMs: START_MS - MINUTE_MS }]);
    await pipeline.foldAll();
    await foldRawPart(pipeline, minute, Buffer.from('damaged'));
    await pipeline.compactAll();
    const before = await summaryAt(pipeline, bucketOf('minute', START_MS - MINUTE_MS));
    expect(before?.incomplete).toBe(false);
    expect((await summaryAt(pipeline, minute))?.incomplete).toBe(true);
    expect((await summaryAt(pipeline, hour))?.incomplete).toBe(true);
  });

  test('of a summary is moved aside, and what takes its place says that it is missing', async () => {
    const pipeline = new Pipeline();
    await putRawSummary(pipeline, hour, Buffer.from('damaged'));
    await pipeline.send([{}]);
    await pipeline.compactAll();
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 1, incomplete: true });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ total: 1, incomplete: false });
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(1);
    await pipeline.send([{ atMs: START_MS }]);
    await pipeline.compactAll();
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 2, incomplete: true });
    expect((await pipeline.memory.readStats(0)).damagedEntries).toBe(1);
  });

  test('of a key that is no summary at all is written over, and is said to be missing', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    let expectedTag: unknown;
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'readIndex') {
        const [{ buckets }] = args[1] as [AskedIndex];
        const index = (await run()) as PartitionIndex;
        if (buckets.length === 0) return index;
        return { ...index, shares: [{ ...index.shares[0], summaryTags: [null, 'broken', null] }] };
      }
      if (method !== 'commitCompaction') return run();
      const commit = args[1] as CompactionCommit;
      expectedTag = commit.summaries[1]?.expectedTag;
      // Here nothing was broken in truth.
      const summaries = commit.summaries.map((summary) => ({ ...summary, expectedTag: null }));
      return pipeline.memory.commitCompaction(0, { ...commit, summaries });
    };
    await pipeline.compactDue();
    expect(expectedTag).toBe('broken');
    expect(await summaryAt(pipeline, hour)).toMatchObject({ total: 1, incomplete: true });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ total: 1, incomplete: false });
  });

  test('a part whose bytes are gone leaves as lost, and its bucket says so', async () => {
    const pipeline = new Pipeline();
    await pipeline.sendEach([{ item: 'kept' }]);
    await pipeline.foldAll();
    await pipeline.send([{ item: 'lost' }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    const lost = (await pipeline.openParts())[1]!.tag;
    const commits: CompactionCommit[] = [];
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'readParts') {
        const tags = args[2] as string[];
        const blobs = (await run()) as (Uint8Array | null)[];
        return blobs.map((blob, index) => (tags[index] === lost ? null : blob));
      }
      if (method !== 'commitCompaction') return run();
      const commit = args[1] as CompactionCommit;
      commits.push(commit);
      const removeParts = [...commit.removeParts, ...commit.lostParts];
      return pipeline.memory.commitCompaction(0, { ...commit, removeParts, lostParts: [] });
    };
    await pipeline.compactDue();
    expect(commits).toMatchObject([{ lostParts: [lost], aside: [], remainingParts: 0 }]);
    expect(countsOf(await summaryAt(pipeline, hour))).toEqual({ kept: 1 });
    expect(await summaryAt(pipeline, hour)).toMatchObject({ incomplete: true });
    expect(await summaryAt(pipeline, minute)).toMatchObject({ incomplete: true });
  });

  test('of one stream does not stop the compaction of others', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: 'a' }, { stream: 'b' }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method !== 'readIndex') return run();
      const [{ share }] = args[1] as [AskedIndex];
      return share === 'a' ? { shares: [null], oldestWaitingMs: null } : run();
    };
    await pipeline.compactDue();
    expect(await pipeline.openParts('a')).toHaveLength(1);
    expect(await pipeline.openParts('b')).toHaveLength(0);
    // Until its next fold nobody visits it in vain.
    expect(await dueAt(pipeline, Number.MAX_SAFE_INTEGER)).toEqual([]);
    pipeline.watched.around = (_call, run) => run();
    await pipeline.send([{ stream: 'a', atMs: START_MS }]);
    await pipeline.compactAll();
    expect(await pipeline.openParts('a')).toHaveLength(0);
  });

  test('is not what a bug is taken for', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.foldAll();
    await pipeline.clock.advance(2 * MINUTE_MS);
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'readIndex') throw new TypeError('a bug');
      return run();
    };
    await expect(pipeline.compactDue()).rejects.toThrow(TypeError);
  });
});
