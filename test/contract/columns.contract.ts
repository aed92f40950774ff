import { describe, expect, test } from 'vitest';
import { type Bucket, bucketOf, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import type { Column, StoredColumn } from '../../src/streams/store-port.ts';
import {
  appendEntry,
  bytesOf,
  compactionOf,
  currentDay,
  currentHour,
  currentMinute,
  foldInto,
  newTag,
  type OpenStore,
  partOf,
  shareFoldOf,
  type StreamStoreHarness,
  summaryOf,
} from './harness.ts';

export function describeColumns(harness: StreamStoreHarness): void {
  describeSharesTogether(harness);
  describeViewers(harness);
}

function describeSharesTogether(harness: StreamStoreHarness): void {
  describe('the index of several shares', () => {
    test('names what each of them holds, in the order asked for', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const [minute, day] = [await currentMinute(open), await currentDay(open)];
      const parts = [partOf({ bucket: minute }), partOf({ bucket: minute })];
      await foldInto(open, { share: 'a', parts: [parts[0]!] });
      await foldInto(open, { share: 'b', parts: [parts[1]!] });
      const ofA = await summaryOf(open, { bucket: day });
      const ofB = [
        await summaryOf(open, { bucket: minute }),
        await summaryOf(open, { bucket: day }),
      ];
      const rest = { remainingParts: 1, compactAtMs: 1 };
      await store.commitCompaction(
        partition,
        compactionOf({ share: 'a', summaries: [ofA], ...rest }),
      );
      await store.commitCompaction(
        partition,
        compactionOf({ share: 'b', summaries: ofB, ...rest }),
      );
      const { shares } = await store.readIndex(partition, [
        { share: 'b', buckets: [minute, day] },
        { share: 'none', buckets: [day] },
        { share: 'a', buckets: [minute, day] },
        { share: 'b', buckets: [] },
      ]);
      expect(shares.map((index) => index?.summaryTags)).toEqual([
        ofB.map(({ tag }) => tag),
        [null],
        [null, ofA.tag],
        [],
      ]);
      expect(shares.map((index) => index?.parts.map(({ tag }) => tag))).toEqual([
        [parts[1]!.tag],
        [],
        [parts[0]!.tag],
        [parts[1]!.tag],
      ]);
    });

    test('has the generation and the deletion of each', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const { id } = await appendEntry(open);
      const next = newTag();
      await store.deleteShare(partition, 'b', next);
      const asked = ['a', 'b'].map((share) => ({ share, buckets: [] }));
      const { shares } = await store.readIndex(partition, asked);
      expect(shares).toMatchObject([
        { generation: '0', deletedThrough: null },
        { generation: next, deletedThrough: id },
      ]);
    });

    test('is of one moment: a fold is in all of them or in none', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const bucket = await currentMinute(open);
      const asked = ['a', 'b', 'c'].map((share) => ({ share, buckets: [bucket] }));
      for (let round = 1; round <= 20; round += 1) {
        const { id, tag } = await appendEntry(open);
        const shares = await Promise.all(
          asked.map(({ share }) => shareFoldOf(open, { share, parts: [partOf({ bucket })] })),
        );
        const commit = { entries: [{ id, tag }], shares, aside: [] };
        const [before, outcome, after] = await Promise.all([
          store.readIndex(partition, asked),
          store.commitFold(partition, commit),
          store.readIndex(partition, asked),
        ]);
        expect(outcome).toBe('applied');
        for (const index of [before, after]) {
          const counts = index.shares.map((share) => share?.parts.length);
          expect(new Set(counts).size).toBe(1);
          expect([round - 1, round]).toContain(counts[0]);
        }
      }
    });

    test('asked of no share is the time of what waits', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      expect(await store.readIndex(partition, [])).toEqual({ shares: [], oldestWaitingMs: null });
      await appendEntry(open);
      const { oldestWaitingMs } = await store.readIndex(partition, []);
      expect(Math.abs((await open.nowMs()) - oldestWaitingMs!)).toBeLessThan(MINUTE_MS);
    });
  });

  test('a share that is no stream of its own is not listed, and is kept all the same', async () => {
    const open = await harness.open();
    const { store, partition } = open;
    const bucket = await currentMinute(open);
    await foldInto(open, { share: 'a', parts: [partOf({ bucket })] });
    await foldInto(open, {
      share: 'a\u001fb\u001fc',
      isListed: false,
      parts: [partOf({ bucket })],
    });
    expect((await store.listShares(partition, null, 10)).map(({ share }) => share)).toEqual(['a']);
    expect(await store.readDueShares(partition, 1, 10)).toEqual(['a', 'a\u001fb\u001fc']);
  });
}

function describeViewers(harness: StreamStoreHarness): void {
  describe('the viewers of a summary', () => {
    test('are a column of their own under the same tag, which may be empty', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const [minute, hour] = [await currentMinute(open), await currentHour(open)];
      const before = bucketOf('hour', hour.startMs - HOUR_MS);
      const summaries = [
        await summaryOf(open, { bucket: minute, viewers: bytesOf('who of the minute') }),
        await summaryOf(open, { bucket: hour, counts: bytesOf('the hour') }),
      ];
      await store.commitCompaction(partition, compactionOf({ share: 'a', summaries }));
      expect(await columnOf(open, [hour, before, minute], 'counts')).toEqual([
        `${summaries[1]!.tag} the hour`,
        null,
        `${summaries[0]!.tag} summary`,
      ]);
      expect(await columnOf(open, [hour, before, minute], 'viewers')).toEqual([
        null,
        null,
        `${summaries[0]!.tag} who of the minute`,
      ]);
      expect(await store.readSummaries(partition, 'a', [], 'viewers')).toEqual([]);
    });

    test('are replaced with the counts, and leave when there are none any more', async () => {
      const open = await harness.open();
      const bucket = await currentHour(open);
      const first = await summaryOf(open, { bucket, viewers: bytesOf('first') });
      const second = await summaryOf(open, {
        ...{ bucket, expectedTag: first.tag },
        viewers: bytesOf('second'),
      });
      const third = await summaryOf(open, { bucket, expectedTag: second.tag });
      const seen: (string | null)[] = [];
      for (const summaries of [[first], [second], [third]]) {
        await open.store.commitCompaction(open.partition, compactionOf({ share: 'a', summaries }));
        seen.push(...(await columnOf(open, [bucket], 'viewers')));
      }
      expect(seen).toEqual([`${first.tag} first`, `${second.tag} second`, null]);
    });

    test('stay as they are when the commit is refused', async () => {
      const open = await harness.open();
      const [minute, hour] = [await currentMinute(open), await currentHour(open)];
      const old = await summaryOf(open, { bucket: minute, viewers: bytesOf('old') });
      const commit = compactionOf({ share: 'a', summaries: [old] });
      await open.store.commitCompaction(open.partition, commit);
      const refused = compactionOf({
        share: 'a',
        summaries: [
          await summaryOf(open, {
            ...{ bucket: minute, expectedTag: old.tag },
            viewers: bytesOf('new'),
          }),
          await summaryOf(open, { bucket: hour, expectedTag: newTag(), viewers: bytesOf('new') }),
        ],
      });
      expect(await open.store.commitCompaction(open.partition, refused)).toBe('conflict');
      expect(await columnOf(open, [minute, hour], 'viewers')).toEqual([`${old.tag} old`, null]);
    });

    test('go with a deletion, and those of the next generation stay', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const [minute, hour] = [await currentMinute(open), await currentHour(open)];
      const viewers = bytesOf('who');
      const old = [
        await summaryOf(open, { bucket: minute, viewers }),
        await summaryOf(open, { bucket: hour, viewers }),
      ];
      await store.commitCompaction(partition, compactionOf({ share: 'a', summaries: old }));
      const generation = newTag();
      await store.deleteShare(partition, 'a', generation);
      expect(await columnOf(open, [minute, hour], 'viewers')).toEqual([null, null]);
      const fresh = await summaryOf(open, { bucket: hour, viewers });
      const commit = compactionOf({ share: 'a', generation, summaries: [fresh] });
      expect(await store.commitCompaction(partition, commit)).toBe('applied');
      await store.dropStaleSummaries(partition, 'a', [minute, hour]);
      expect(await columnOf(open, [minute, hour], 'viewers')).toEqual([null, `${fresh.tag} who`]);
    });

    test('expire with the counts', async () => {
      const open = await harness.open();
      const bucket = await currentMinute(open);
      const expiresAtMs = (await open.nowMs()) + 100;
      const summary = await summaryOf(open, { bucket, viewers: bytesOf('who'), expiresAtMs });
      const commit = compactionOf({ share: 'a', summaries: [summary] });
      await open.store.commitCompaction(open.partition, commit);
      expect(await columnOf(open, [bucket], 'viewers')).toEqual([`${summary.tag} who`]);
      await open.passMs(150);
      expect(await columnOf(open, [bucket], 'viewers')).toEqual([null]);
    });
  });
}

/** Tag and text of the share `a`, for each bucket. */
async function columnOf(
  { store, partition }: OpenStore,
  buckets: readonly Bucket[],
  column: Column,
): Promise<(string | null)[]> {
  const stored = await store.readSummaries(partition, 'a', buckets, column);
  const textOf = ({ tag, blob }: StoredColumn): string => `${tag} ${Buffer.from(blob).toString()}`;
  return stored.map((found) => found && textOf(found));
}
