import { describe, expect, test } from 'vitest';
import { type Bucket, MINUTE_MS } from '../../src/streams/buckets.ts';
import { READ_ATTEMPTS_MAX } from '../../src/streams/limits.ts';
import type { BucketSummary } from '../../src/streams/reader.ts';
import { shareKeyOf } from '../../src/streams/shares.ts';
import type { PartitionIndex, StoredColumn } from '../../src/streams/store-port.ts';
import type { WindowRequest } from '../../src/streams/window.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';
import { bucketsOf, readDefault, totalOf } from '../support/reads.ts';

describe('a read of several shares', () => {
  const segment = shareKeyOf('default', { dimension: 'country', value: 'IN' });

  test('is of one moment: one index of each partition names them all', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.sendEach([{}, { stream: 'other', count: 2 }]);
    await pipeline.foldAll();
    pipeline.watched.calls = [];
    const buckets = bucketsOf(pipeline);
    const asked = ['other', segment, 'default'].map((share) => {
      return { share, buckets, viewers: false };
    });
    const { summaries, missing } = await pipeline.reader.read(asked, START_MS);
    expect(summaries.map(totalOf)).toEqual([2, 0, 1]);
    expect(missing).toEqual([]);
    expect(pipeline.watched.callsOf('readIndex')).toHaveLength(2);
  });

  test('reads what windows have in common once, and gives each window its own', async () => {
    const pipeline = new Pipeline();
    const ages = [0, 20 * MINUTE_MS, 40 * MINUTE_MS];
    await pipeline.sendEach(ages.map((ageMs) => ({ atMs: START_MS - ageMs })));
    await pipeline.compactAll();
    await pipeline.send([{ count: 10, atMs: pipeline.clock.nowMs() }]);
    await pipeline.foldAll();
    pipeline.watched.calls = [];
    const nowMs = pipeline.clock.nowMs();
    const spans = [30, 60, 10].map((minutes): WindowRequest => {
      return { kind: 'trailing', lengthMs: minutes * MINUTE_MS, untilMs: null };
    });
    const asked = spans.map((span) => {
      return { share: 'default', buckets: bucketsOf(pipeline, span), viewers: false };
    });
    const { summaries } = await pipeline.reader.read(asked, nowMs);
    expect(summaries.map(totalOf)).toEqual([12, 13, 11]);
    const read = pipeline.watched.callsOf('readSummaries').flatMap(({ args }) => args[2]);
    expect(read).toHaveLength(3);
    expect(pipeline.watched.callsOf('readParts')).toHaveLength(1);
  });

  test('does not take an open part for one of two windows that lie around it', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ atMs: START_MS - 30 * MINUTE_MS }]);
    await pipeline.foldAll();
    const spans = [0, 40].map((minutesAgo): WindowRequest => {
      const untilMs = START_MS - minutesAgo * MINUTE_MS;
      return { kind: 'trailing', lengthMs: 10 * MINUTE_MS, untilMs };
    });
    const asked = spans.map((span) => {
      return { share: 'default', buckets: bucketsOf(pipeline, span), viewers: false };
    });
    pipeline.watched.calls = [];
    const { summaries } = await pipeline.reader.read(asked, START_MS);
    expect(summaries.map(totalOf)).toEqual([0, 0]);
    expect(pipeline.watched.callsOf('readParts')).toEqual([]);
  });

  test('of which one is broken answers the others, and says what is missing', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.sendEach([{}, {}, { stream: 'other' }, { stream: 'other' }]);
    await pipeline.foldAll();
    pipeline.watched.around = async ({ method, args }, run) => {
      const result = await run();
      if (method !== 'readIndex' || args[0] !== 1) return result;
      const { shares, oldestWaitingMs } = result as PartitionIndex;
      return { shares: [null, shares[1]], oldestWaitingMs };
    };
    const asked = ['default', 'other'].map((share) => {
      return { share, buckets: bucketsOf(pipeline), viewers: false };
    });
    const { summaries, missing } = await pipeline.reader.read(asked, START_MS);
    expect(summaries.map(totalOf)).toEqual([1, 2]);
    expect(missing).toEqual(['partition 1']);
  });

  test('of no share is the time of what waits', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.clock.advance(1_000);
    const result = await pipeline.reader.read([], pipeline.clock.nowMs());
    expect(result).toMatchObject({ summaries: [], asOfMs: START_MS, missing: [] });
  });
});

describe('the viewers of summaries', () => {
  test('are left alone by reads that do not ask for them', async () => {
    const pipeline = await withViewers();
    const summaries = await readViewers(pipeline, false);
    expect(columnsRead(pipeline)).toEqual(['counts 2']);
    expect(summaries.map(({ summary }) => summary.viewersLoaded)).toEqual([true, false]);
  });

  test('are read where they stand apart, small ones come with the counts', async () => {
    const pipeline = await withViewers();
    const summaries = await readViewers(pipeline, true);
    expect(columnsRead(pipeline)).toEqual(['counts 2', 'viewers 1']);
    expect(summaries.map(({ summary }) => summary.pairCount)).toEqual([1, 1_000]);
  });

  test('complete a summary that is cached without them, and are cached with it', async () => {
    const pipeline = await withViewers();
    await readViewers(pipeline, false);
    const withoutBytes = pipeline.reader.cachedBytes;
    pipeline.watched.calls = [];
    const summaries = await readViewers(pipeline, true);
    expect(columnsRead(pipeline)).toEqual(['viewers 1']);
    expect(summaries.map(({ summary }) => summary.pairCount)).toEqual([1, 1_000]);
    expect(summaries.map(({ summary }) => summary.total)).toEqual([1, 1_000]);
    expect(pipeline.reader.cachedBytes).toBeGreaterThan(withoutBytes + 8 * 1_000);
    pipeline.watched.calls = [];
    await readViewers(pipeline, true);
    await readViewers(pipeline, false);
    expect(columnsRead(pipeline)).toEqual([]);
  });

  test('of open parts come with them', async () => {
    const pipeline = await withViewers();
    await pipeline.send(Array.from({ length: 1_000 }, (_, at) => ({ actor: `late ${at}` })));
    await pipeline.foldAll();
    const summaries = await readViewers(pipeline, true);
    expect(summaries.map(({ summary }) => summary.pairCount)).toEqual([1, 1_000, 1_000]);
  });

  test('that a compaction replaces meanwhile make the read begin anew', async () => {
    const pipeline = await withViewers();
    let isFirst = true;
    pipeline.watched.around = async ({ method, args }, run) => {
      if (method === 'readSummaries' && args[3] === 'viewers' && isFirst) {
        isFirst = false;
        await pipeline.send([{ actor: 'late', atMs: START_MS }]);
        await pipeline.compactAll();
      }
      return run();
    };
    const summaries = await readViewers(pipeline, true);
    expect(isFirst).toBe(false);
    expect(summaries.map(({ summary }) => summary.pairCount)).toEqual([1, 1_001]);
  });

  test.each([
    ['are gone', () => null, READ_ATTEMPTS_MAX],
    ['are damaged', (tag: string) => ({ tag, blob: Buffer.from('damaged') }), 1],
  ] as const)('that %s are named by their bucket, and counts are read', async (_, given, looks) => {
    const pipeline = await withViewers();
    pipeline.watched.around = async ({ method, args }, run) => {
      const result = await run();
      if (method !== 'readSummaries' || args[3] !== 'viewers') return result;
      return (result as StoredColumn[]).map(({ tag }) => given(tag));
    };
    const asked = { share: 'default', buckets: bucketsOf(pipeline) };
    const readAtMs = pipeline.clock.nowMs();
    const withThem = await pipeline.reader.read([{ ...asked, viewers: true }], readAtMs);
    expect(withThem.missing).toEqual(['partition 0 minute:2026-11-30T12:34Z']);
    expect(withThem.summaries.map(totalOf)).toEqual([1]);
    expect(pipeline.watched.callsOf('readIndex')).toHaveLength(looks);
    const without = await pipeline.reader.read([{ ...asked, viewers: false }], readAtMs);
    expect(without.missing).toEqual([]);
    expect(without.summaries.map(totalOf)).toEqual([1_001]);
  });

  /** One viewer a minute ago, and so many now that they are kept in a column of their own. */
  async function withViewers(): Promise<Pipeline> {
    const pipeline = new Pipeline();
    await pipeline.send([{ actor: 'a', atMs: START_MS - MINUTE_MS }]);
    await pipeline.send(
      Array.from({ length: 1_000 }, (_, at) => ({ item: `i${at % 9}`, actor: `a${at}` })),
    );
    await pipeline.compactAll();
    pipeline.watched.calls = [];
    return pipeline;
  }

  async function readViewers(
    pipeline: Pipeline,
    viewers: boolean,
  ): Promise<readonly BucketSummary[]> {
    const asked = { share: 'default', buckets: bucketsOf(pipeline), viewers };
    const { summaries, missing } = await pipeline.reader.read([asked], pipeline.clock.nowMs());
    expect(missing).toEqual([]);
    return summaries[0]!;
  }

  /** Each column that was read, with the number of buckets. */
  function columnsRead(pipeline: Pipeline): string[] {
    return pipeline.watched.callsOf('readSummaries').map(({ args }) => {
      return `${args[3] as string} ${(args[2] as Bucket[]).length}`;
    });
  }
});

describe('what a read tells about itself', () => {
  test('where each summary came from, and since when a part is folded', async () => {
    const pipeline = new Pipeline({ partitionCount: 2 });
    await pipeline.sendEach([{}, {}]);
    await pipeline.compactAll();
    const foldedAtMs = pipeline.clock.nowMs() + 7_000;
    await pipeline.send([{}]);
    await pipeline.clock.advance(7_000);
    await pipeline.foldAll();
    const factsOf = ({ partition, source, foldedAtMs: at }: BucketSummary) => [
      ...[partition, source, at],
    ];
    const first = await readDefault(pipeline);
    expect(first.summaries.map(factsOf)).toEqual([
      [0, 'store', null],
      [1, 'store', null],
      [1, 'part', foldedAtMs],
    ]);
    const second = await readDefault(pipeline);
    expect(second.summaries.map(factsOf)).toEqual([
      [0, 'cache', null],
      [1, 'cache', null],
      [1, 'part', foldedAtMs],
    ]);
  });

  test('how long it waited for the index and for bytes', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{}]);
    await pipeline.compactAll();
    const waits: Partial<Record<string, number>> = { readIndex: 3, readSummaries: 20 };
    pipeline.watched.around = async ({ method }, run) => {
      await pipeline.clock.advance(waits[method] ?? 0);
      return run();
    };
    expect((await readDefault(pipeline)).times).toEqual({ indexMs: 3, fetchMs: 20, decodeMs: 0 });
    expect((await readDefault(pipeline)).times).toEqual({ indexMs: 3, fetchMs: 0, decodeMs: 0 });
  });
});
