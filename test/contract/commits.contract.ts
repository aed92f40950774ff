import { describe, expect, test } from 'vitest';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { bucketOf, HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { entryTimeMs } from '../../src/streams/entry-id.ts';
import {
  appendEntry,
  bytesOf,
  compactionOf,
  currentHour,
  currentMinute,
  foldInto,
  newTag,
  openPartTags,
  partOf,
  requestOf,
  type StreamStoreHarness,
  shareFoldOf,
  summaryOf,
} from './harness.ts';

export function describeCommits(harness: StreamStoreHarness): void {
  describeFold(harness);
  describeCompaction(harness);
  describeVisits(harness);
}

function describeFold(harness: StreamStoreHarness): void {
  describe('a fold', () => {
    test('puts its parts in the place of its entries', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const [first, second] = [await appendEntry(open), await appendEntry(open)];
      const minute = await currentMinute(open);
      const part = partOf({ bucket: minute, foldedAtMs: 77, blob: bytesOf('some part') });
      const hourPart = partOf({ bucket: bucketOf('hour', minute.startMs) });
      const folds = [
        await shareFoldOf(open, { share: 'a', parts: [part, hourPart] }),
        await shareFoldOf(open, { share: 'b', parts: [partOf({ bucket: minute })] }),
      ];
      const commit = { entries: [{ id: first.id, tag: first.tag }], shares: folds, aside: [] };
      expect(await store.commitFold(partition, commit)).toBe('applied');
      expect((await store.readLog(partition, 10, 1_000)).map(({ id }) => id)).toEqual([second.id]);
      const index = await readShareIndex(store, partition, 'a', []);
      expect(index.parts.toSorted((a, b) => b.bytes - a.bytes)).toMatchObject([
        { tag: part.tag, bucket: minute, bytes: 9, foldedAtMs: 77 },
        { tag: hourPart.tag, bucket: hourPart.bucket, bytes: 4, foldedAtMs: 1 },
      ]);
      const { oldestWaitingMs } = await store.readIndex(partition, []);
      expect(oldestWaitingMs).toBe(entryTimeMs(second.id));
      const [blob] = await store.readParts(partition, 'a', [part.tag]);
      expect(Buffer.from(blob as Uint8Array).toString()).toBe('some part');
      expect(await openPartTags(open, 'b')).toHaveLength(1);
    });

    test('is done once: the second try finds its entries gone', async () => {
      const open = await harness.open();
      const { id, tag } = await appendEntry(open);
      const bucket = await currentMinute(open);
      const fold = await shareFoldOf(open, { share: 'a', parts: [partOf({ bucket })] });
      const again = await shareFoldOf(open, { share: 'a', parts: [partOf({ bucket })] });
      const entries = [{ id, tag }];
      const commits = [fold, again].map((share) => ({ entries, shares: [share], aside: [] }));
      const outcomes = await Promise.all(
        commits.map((commit) => open.store.commitFold(open.partition, commit)),
      );
      expect(outcomes.toSorted()).toEqual(['applied', 'conflict']);
      expect(await openPartTags(open, 'a')).toHaveLength(1);
    });

    test.each([
      ['one of its entries has gone', (id: string) => ({ id: `${Number.parseInt(id, 10)}-99` })],
      ['an entry of the same id has another tag', () => ({ tag: newTag() })],
    ])('changes nothing when %s', async (_, change) => {
      const open = await harness.open();
      const { store, partition } = open;
      const entries = [await appendEntry(open), await appendEntry(open)].map(({ id, tag }) => {
        return { id, tag };
      });
      const changed = { ...entries[1]!, ...change(entries[1]!.id) };
      const parts = [partOf({ bucket: await currentMinute(open) })];
      const fold = await shareFoldOf(open, { share: 'a', parts });
      const aside = [{ reason: 'damaged', blob: bytesOf('x') }];
      const commit = { entries: [entries[0]!, changed], shares: [fold], aside };
      expect(await store.commitFold(partition, commit)).toBe('conflict');
      const left = await store.readLog(partition, 10, 1_000);
      expect(left.map(({ id, tag }) => ({ id, tag }))).toEqual(entries);
      expect(await openPartTags(open, 'a')).toEqual([]);
      expect(await store.listShares(partition, null, 10)).toEqual([]);
      expect((await store.readStats(partition)).damagedEntries).toBe(0);
    });

    test('changes nothing when one of its streams was deleted meanwhile', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const { id, tag } = await appendEntry(open);
      const bucket = await currentMinute(open);
      const shares = await Promise.all(
        ['a', 'b'].map((share) => shareFoldOf(open, { share, parts: [partOf({ bucket })] })),
      );
      await store.deleteShare(partition, 'b', newTag());
      const commit = { entries: [{ id, tag }], shares, aside: [] };
      expect(await store.commitFold(partition, commit)).toBe('conflict');
      expect(await openPartTags(open, 'a')).toEqual([]);
      expect(await store.readLog(partition, 10, 1_000)).toHaveLength(1);
    });

    test('moves aside what could not be folded', async () => {
      const open = await harness.open();
      const { id, tag } = await appendEntry(open, bytesOf('abc'));
      const aside = [{ reason: 'damaged', blob: bytesOf('abc') }];
      const commit = { entries: [{ id, tag }], shares: [], aside };
      expect(await open.store.commitFold(open.partition, commit)).toBe('applied');
      const stats = await open.store.readStats(open.partition);
      expect(stats).toMatchObject({ waitingEntries: 0, damagedEntries: 1 });
    });
  });
}

function describeCompaction(harness: StreamStoreHarness): void {
  describe('a compaction', () => {
    test('puts summaries in the place of the parts they were made of', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const minute = await currentMinute(open);
      const parts = [partOf({ bucket: minute }), partOf({ bucket: minute })];
      await foldInto(open, { share: 'a', parts });
      const hour = await currentHour(open);
      const summaries = [
        await summaryOf(open, { bucket: minute, counts: bytesOf('the minute') }),
        await summaryOf(open, { bucket: hour, counts: bytesOf('the hour') }),
      ];
      const removeParts = parts.map(({ tag }) => tag);
      const commit = compactionOf({ share: 'a', removeParts, summaries });
      expect(await store.commitCompaction(partition, commit)).toBe('applied');
      expect(await openPartTags(open, 'a')).toEqual([]);
      expect(await store.readParts(partition, 'a', removeParts)).toEqual([null, null]);
      const before = { ...hour, startMs: hour.startMs - HOUR_MS };
      const { summaryTags } = await readShareIndex(store, partition, 'a', [hour, before, minute]);
      expect(summaryTags).toEqual([summaries[1]?.tag, null, summaries[0]?.tag]);
      const stored = await store.readSummaries(partition, 'a', [hour, before, minute], 'counts');
      const texts = stored.map((found) => found && Buffer.from(found.blob).toString());
      expect(texts).toEqual(['the hour', null, 'the minute']);
      expect(stored.map((found) => found?.tag)).toEqual([
        ...[summaries[1]?.tag, undefined, summaries[0]?.tag],
      ]);
      const other = await readShareIndex(store, partition, 'b', [hour, minute]);
      expect(other.summaryTags).toEqual([null, null]);
    });

    test('may put merged parts in the place of parts', async () => {
      const open = await harness.open();
      const bucket = await currentMinute(open);
      const [one, two, merged] = [partOf({ bucket }), partOf({ bucket }), partOf({ bucket })];
      await foldInto(open, { share: 'a', parts: [one, two] });
      const commit = compactionOf({
        share: 'a',
        removeParts: [one.tag],
        addParts: [merged],
        remainingParts: 2,
        compactAtMs: 5,
        aside: [{ reason: 'damaged part', blob: bytesOf('x') }],
      });
      expect(await open.store.commitCompaction(open.partition, commit)).toBe('applied');
      expect(await openPartTags(open, 'a')).toEqual([two.tag, merged.tag].sort());
      expect((await open.store.readStats(open.partition)).damagedEntries).toBe(1);
    });

    test('is done once: the second try finds its parts gone', async () => {
      const open = await harness.open();
      const bucket = await currentMinute(open);
      const part = partOf({ bucket });
      await foldInto(open, { share: 'a', parts: [part] });
      const commits = await Promise.all(
        [1, 2].map(async () => {
          const summaries = [await summaryOf(open, { bucket })];
          return compactionOf({ share: 'a', removeParts: [part.tag], summaries });
        }),
      );
      const outcomes = await Promise.all(
        commits.map((commit) => open.store.commitCompaction(open.partition, commit)),
      );
      expect(outcomes.toSorted()).toEqual(['applied', 'conflict']);
    });

    test('changes nothing when a summary to be replaced is another one, or a part has gone', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const bucket = await currentMinute(open);
      const hour = await currentHour(open);
      const [part, late] = [partOf({ bucket }), partOf({ bucket })];
      await foldInto(open, { share: 'a', parts: [part, late] });
      const first = await summaryOf(open, { bucket });
      const settle = compactionOf({
        ...{ share: 'a', removeParts: [part.tag], summaries: [first] },
        ...{ remainingParts: 1, compactAtMs: 1 },
      });
      expect(await store.commitCompaction(partition, settle)).toBe('applied');
      const hourSummary = await summaryOf(open, { bucket: hour });
      for (const [expectedTag, removeParts] of [
        [null, [late.tag]],
        [newTag(), [late.tag]],
        ['broken', [late.tag]],
        [first.tag, [late.tag, part.tag]],
      ] as const) {
        const summaries = [hourSummary, await summaryOf(open, { bucket, expectedTag })];
        const commit = compactionOf({ share: 'a', removeParts, summaries, addParts: [part] });
        expect(await store.commitCompaction(partition, commit)).toBe('conflict');
      }
      const { summaryTags } = await readShareIndex(store, partition, 'a', [bucket, hour]);
      expect(summaryTags).toEqual([first.tag, null]);
      expect(await openPartTags(open, 'a')).toEqual([late.tag]);
      const second = await summaryOf(open, { bucket, expectedTag: first.tag });
      const replace = { share: 'a', removeParts: [late.tag], summaries: [hourSummary, second] };
      expect(await store.commitCompaction(partition, compactionOf(replace))).toBe('applied');
      const after = await readShareIndex(store, partition, 'a', [bucket, hour]);
      expect(after.summaryTags).toEqual([second.tag, hourSummary.tag]);
    });

    test('changes nothing when a part that it takes for lost is there', async () => {
      const open = await harness.open();
      const bucket = await currentMinute(open);
      const [whole, other] = [partOf({ bucket }), partOf({ bucket })];
      await foldInto(open, { share: 'a', parts: [whole, other] });
      const parts = { removeParts: [other.tag], lostParts: [whole.tag] };
      const commit = compactionOf({ share: 'a', ...parts });
      expect(await open.store.commitCompaction(open.partition, commit)).toBe('conflict');
      expect(await openPartTags(open, 'a')).toEqual([whole.tag, other.tag].sort());
    });

    test('changes nothing when the stream was deleted meanwhile', async () => {
      const open = await harness.open();
      const bucket = await currentMinute(open);
      await open.store.deleteShare(open.partition, 'a', newTag());
      const summaries = [await summaryOf(open, { bucket })];
      const commit = compactionOf({ share: 'a', generation: '0', summaries });
      expect(await open.store.commitCompaction(open.partition, commit)).toBe('conflict');
      const index = await readShareIndex(open.store, open.partition, 'a', [bucket]);
      expect(index.summaryTags).toEqual([null]);
    });

    test('leaves summaries that expire, while open parts never do', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const bucket = await currentMinute(open);
      const hour = await currentHour(open);
      const part = partOf({ bucket });
      const keptUntilMs = (await open.nowMs()) + 150;
      await foldInto(open, { share: 'a', parts: [part], keptUntilMs });
      const summaries = [
        await summaryOf(open, { bucket, expiresAtMs: (await open.nowMs()) + 150 }),
        await summaryOf(open, { bucket: hour }),
      ];
      const commit = compactionOf({ share: 'a', summaries, remainingParts: 1, compactAtMs: 1 });
      expect(await store.commitCompaction(partition, commit)).toBe('applied');
      await open.passMs(200);
      const { summaryTags, parts } = await readShareIndex(store, partition, 'a', [bucket, hour]);
      expect(summaryTags).toEqual([null, summaries[1]?.tag]);
      expect(parts.map(({ tag }) => tag)).toEqual([part.tag]);
      expect(await store.readSummaries(partition, 'a', [bucket], 'counts')).toEqual([null]);
      const [blob] = await store.readParts(partition, 'a', [part.tag]);
      expect(blob).not.toBeNull();
    });

    test('many summaries and parts of any bytes are read back in the order asked for', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const start = await currentHour(open);
      const anyBytes = Uint8Array.from({ length: 256 * 1_024 }, (_, i) => i % 256);
      const summaries = await Promise.all(
        Array.from({ length: 100 }, (_, i) => {
          const bucket = bucketOf('minute', start.startMs - i * MINUTE_MS);
          return summaryOf(open, { bucket, counts: i % 10 === 0 ? anyBytes : bytesOf(`${i}`) });
        }),
      );
      const commit = compactionOf({ share: 'a', summaries });
      expect(await store.commitCompaction(partition, commit)).toBe('applied');
      const parts = Array.from({ length: 100 }, (_, i) =>
        partOf({ bucket: start, blob: i % 50 === 0 ? anyBytes : bytesOf(`${i}`) }),
      );
      await foldInto(open, { share: 'a', parts });
      const buckets = summaries.map(({ bucket }) => bucket);
      const { summaryTags } = await readShareIndex(store, partition, 'a', buckets);
      expect(summaryTags).toEqual(summaries.map(({ tag }) => tag));
      const stored = await store.readSummaries(partition, 'a', buckets, 'counts');
      const wanted = [...parts.map(({ blob }) => blob), ...summaries.map(({ counts }) => counts)];
      const tags = parts.map(({ tag }) => tag);
      const found = [
        ...(await store.readParts(partition, 'a', tags)),
        ...stored.map((summary) => summary?.blob ?? null),
      ];
      const areEqual = found.map(
        (blob, i) => blob !== null && Buffer.from(wanted[i]!).equals(blob),
      );
      expect(areEqual).toEqual(Array(200).fill(true));
    });
  });
}

function describeVisits(harness: StreamStoreHarness): void {
  describe('visits of the compaction', () => {
    test('are due at their time, the earliest first, as many as asked for', async () => {
      const open = await harness.open();
      for (const [share, compactAtMs] of [
        ['late', 300],
        ['soon', 100],
        ['between', 200],
      ] as const) {
        await foldInto(open, { share, compactAtMs });
      }
      const dueAt = (nowMs: number, limit: number): Promise<string[]> =>
        open.store.readDueShares(open.partition, nowMs, limit);
      expect(await dueAt(99, 10)).toEqual([]);
      expect(await dueAt(100, 10)).toEqual(['soon']);
      expect(await dueAt(1_000, 2)).toEqual(['soon', 'between']);
      expect(await dueAt(1_000, 10)).toEqual(['soon', 'between', 'late']);
      await open.store.cancelVisit(open.partition, 'between');
      expect(await dueAt(1_000, 10)).toEqual(['soon', 'late']);
    });

    test('are brought forward by a fold but not put off', async () => {
      const open = await harness.open();
      for (const compactAtMs of [200, 300, 100]) {
        await foldInto(open, { share: 'a', compactAtMs });
        const dueAtMs = Math.min(200, compactAtMs);
        const { store, partition } = open;
        expect(await store.readDueShares(partition, dueAtMs - 1, 10)).toEqual([]);
        expect(await store.readDueShares(partition, dueAtMs, 10)).toEqual(['a']);
      }
    });

    test('are put off or ended by a compaction that nobody overtook', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const part = partOf({ bucket: await currentMinute(open) });
      await foldInto(open, { share: 'a', parts: [part], compactAtMs: 100 });
      const later = compactionOf({ share: 'a', remainingParts: 1, compactAtMs: 500 });
      await store.commitCompaction(partition, later);
      expect(await store.readDueShares(partition, 499, 10)).toEqual([]);
      expect(await store.readDueShares(partition, 500, 10)).toEqual(['a']);
      await store.commitCompaction(
        partition,
        compactionOf({ share: 'a', removeParts: [part.tag] }),
      );
      expect(await store.readDueShares(partition, 1_000, 10)).toEqual([]);
    });

    test('stay as they are when parts were added meanwhile', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const bucket = await currentMinute(open);
      const part = partOf({ bucket });
      await foldInto(open, { share: 'a', parts: [part], compactAtMs: 100 });
      await foldInto(open, { share: 'a', parts: [partOf({ bucket })], compactAtMs: 200 });
      const commit = compactionOf({ share: 'a', removeParts: [part.tag] });
      expect(await store.commitCompaction(partition, commit)).toBe('applied');
      expect(await store.readDueShares(partition, 100, 10)).toEqual(['a']);
    });

    test('are not made by an append alone', async () => {
      const open = await harness.open();
      await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
      expect(await open.store.readDueShares(open.partition, 1e15, 10)).toEqual([]);
    });
  });
}
