import { describe, expect, test } from 'vitest';
import { readShareIndex } from '../../src/streams/share-index.ts';
import { compareEntryIds } from '../../src/streams/entry-id.ts';
import {
  appendEntry,
  compactionOf,
  currentHour,
  currentMinute,
  foldInto,
  newTag,
  openPartTags,
  partOf,
  type StreamStoreHarness,
  summaryOf,
} from './harness.ts';

/** Names that reach for the syntax of keys, of scripts or of the protocol. */
const AWKWARD_NAMES = [
  'default',
  ' leading and trailing ',
  '{p0}:log',
  '}{',
  'a\u0000b',
  'line\r\n$3\r\nfeed',
  'a%62',
  'ab:open:*?[x]',
  "it's (100%) ~here!",
  'naïve ключ 名前 😀',
  '.',
  'x'.repeat(128),
  'é'.repeat(64),
];

export function describeStreams(harness: StreamStoreHarness): void {
  describe('a stream that was never written', () => {
    test('is empty, of the first generation and not listed', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const bucket = await currentHour(open);
      expect(await readShareIndex(store, partition, 'none', [bucket])).toEqual({
        generation: '0',
        deletedThrough: null,
        parts: [],
        summaryTags: [null],
      });
      expect(await store.readSummaries(partition, 'none', [bucket], 'counts')).toEqual([null]);
      expect(await store.readSummaries(partition, 'none', [], 'counts')).toEqual([]);
      expect(await store.readParts(partition, 'none', [newTag()])).toEqual([null]);
      expect(await store.readParts(partition, 'none', [])).toEqual([]);
      expect(await store.listShares(partition, null, 10)).toEqual([]);
    });
  });

  describe('the deletion of a stream', () => {
    test('drops parts, summaries, visits and the place on the list', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const bucket = await currentMinute(open);
      const part = partOf({ bucket });
      await foldInto(open, { share: 'a', parts: [part] });
      await foldInto(open, { share: 'b', parts: [partOf({ bucket })] });
      const summary = await summaryOf(open, { bucket });
      const commit = { share: 'a', summaries: [summary], remainingParts: 1, compactAtMs: 1 };
      await store.commitCompaction(partition, compactionOf(commit));
      const next = newTag();
      await store.deleteShare(partition, 'a', next);
      const index = await readShareIndex(store, partition, 'a', [bucket]);
      expect(index).toMatchObject({ generation: next, parts: [], summaryTags: [null] });
      expect(await store.readSummaries(partition, 'a', [bucket], 'counts')).toEqual([null]);
      expect(await store.readParts(partition, 'a', [part.tag])).toEqual([null]);
      expect(await store.readDueShares(partition, 1_000, 10)).toEqual(['b']);
      expect(await store.listShares(partition, null, 10)).toEqual([
        { share: 'b', generation: '0' },
      ]);
      expect(await openPartTags(open, 'b')).toHaveLength(1);
    });

    test('covers the entries that wait and none that comes later', async () => {
      const open = await harness.open();
      const before = [await appendEntry(open), await appendEntry(open)];
      await open.store.deleteShare(open.partition, 'a', newTag());
      const later = await appendEntry(open);
      const { deletedThrough } = await readShareIndex(open.store, open.partition, 'a', []);
      const isCovered = (id: string): boolean => compareEntryIds(id, deletedThrough ?? '0-0') <= 0;
      expect(before.map(({ id }) => isCovered(id))).toEqual([true, true]);
      expect(isCovered(later.id)).toBe(false);
      const other = await readShareIndex(open.store, open.partition, 'b', []);
      expect(other.deletedThrough).toBeNull();
    });

    test('covers nothing that comes later when nothing waited either', async () => {
      const open = await harness.open();
      await open.store.deleteShare(open.partition, 'a', newTag());
      const later = await appendEntry(open);
      const { deletedThrough } = await readShareIndex(open.store, open.partition, 'a', []);
      expect(compareEntryIds(later.id, deletedThrough ?? '0-0')).toBeGreaterThan(0);
    });

    test('sent twice drops nothing that came in between', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const next = newTag();
      await store.deleteShare(partition, 'a', next);
      const parts = [partOf({ bucket: await currentMinute(open) })];
      await foldInto(open, { share: 'a', generation: next, parts });
      const waiting = await appendEntry(open);
      await store.deleteShare(partition, 'a', next);
      expect(await openPartTags(open, 'a')).toHaveLength(1);
      const { deletedThrough } = await readShareIndex(store, partition, 'a', []);
      expect(compareEntryIds(waiting.id, deletedThrough ?? '0-0')).toBeGreaterThan(0);
    });

    test('lets the stream start anew, with its old summaries never to be seen again', async () => {
      const open = await harness.open();
      const { store, partition } = open;
      const [minute, hour] = [await currentMinute(open), await currentHour(open)];
      const old = [
        await summaryOf(open, { bucket: minute }),
        await summaryOf(open, { bucket: hour }),
      ];
      await store.commitCompaction(partition, compactionOf({ share: 'a', summaries: old }));
      const next = newTag();
      await store.deleteShare(partition, 'a', next);
      await foldInto(open, { share: 'a', generation: next });
      expect(await store.listShares(partition, null, 10)).toEqual([
        { share: 'a', generation: next },
      ]);
      const fresh = await summaryOf(open, { bucket: hour, expectedTag: null });
      const commit = compactionOf({ share: 'a', generation: next, summaries: [fresh] });
      expect(await store.commitCompaction(partition, commit)).toBe('applied');
      await store.dropStaleSummaries(partition, 'a', [minute, hour]);
      const { summaryTags } = await readShareIndex(store, partition, 'a', [minute, hour]);
      expect(summaryTags).toEqual([null, fresh.tag]);
      const stored = await store.readSummaries(partition, 'a', [minute, hour], 'counts');
      expect(stored.map((summary) => summary?.tag)).toEqual([undefined, fresh.tag]);
    });
  });

  describe('the list of streams', () => {
    test('is in the order of the bytes of the names, page after page', async () => {
      const open = await harness.open();
      // In UTF-16, the emoji (a surrogate pair) would come before U+FF41.
      const inOrder = ['Z', 'a', 'a b', 'aa', 'b', 'é', 'ａ', '😀'];
      for (const share of inOrder.toReversed()) {
        await foldInto(open, { share });
      }
      const { store, partition } = open;
      const seen: string[] = [];
      for (let after: string | null = null; ; ) {
        const page = await store.listShares(partition, after, 3);
        if (page.length === 0) {
          break;
        }
        seen.push(...page.map(({ share }) => share));
        after = seen.at(-1) ?? null;
      }
      expect(seen).toEqual(inOrder);
      expect(await store.listShares(partition, 'aab', 1)).toEqual([
        { share: 'b', generation: '0' },
      ]);
    });

    test('leaves out streams that are over, without shortening the page', async () => {
      const open = await harness.open();
      const overAtMs = (await open.nowMs()) + 150;
      for (const share of ['a', 'b', 'c', 'd']) {
        const isOver = share === 'a' || share === 'c';
        await foldInto(open, { share, ...(isOver ? { keptUntilMs: overAtMs } : {}) });
      }
      await open.passMs(200);
      const list = (): Promise<{ share: string }[]> =>
        open.store.listShares(open.partition, null, 2);
      expect((await list()).map(({ share }) => share)).toEqual(['b', 'd']);
      await foldInto(open, { share: 'a' });
      expect((await list()).map(({ share }) => share)).toEqual(['a', 'b']);
    });

    test('shows a stream as long as the longest of its folds wanted', async () => {
      const open = await harness.open();
      await foldInto(open, { share: 'a' });
      await foldInto(open, { share: 'a', keptUntilMs: (await open.nowMs()) + 50 });
      await open.passMs(100);
      expect(await open.store.listShares(open.partition, null, 2)).toHaveLength(1);
    });
  });

  test.each(AWKWARD_NAMES)('the name %j goes all the way and meets no other', async (share) => {
    const open = await harness.open();
    const { store, partition } = open;
    const bucket = await currentHour(open);
    const part = partOf({ bucket });
    await foldInto(open, { share, parts: [part] });
    const summary = await summaryOf(open, { bucket });
    const commit = compactionOf({
      ...{ share, removeParts: [], summaries: [summary] },
      ...{ remainingParts: 1, compactAtMs: 7 },
    });
    expect(await store.commitCompaction(partition, commit)).toBe('applied');
    const index = await readShareIndex(store, partition, share, [bucket]);
    expect(index.parts.map(({ tag }) => tag)).toEqual([part.tag]);
    expect(index.summaryTags).toEqual([summary.tag]);
    expect(await store.readParts(partition, share, [part.tag])).not.toEqual([null]);
    expect((await store.readSummaries(partition, share, [bucket], 'counts'))[0]?.tag).toBe(
      summary.tag,
    );
    expect(await store.readDueShares(partition, 7, 10)).toEqual([share]);
    expect(await store.listShares(partition, null, 10)).toEqual([{ share, generation: '0' }]);
    for (const other of [`${share}x`, encodeURIComponent(share).concat('%'), 'other']) {
      expect((await readShareIndex(store, partition, other, [bucket])).summaryTags).toEqual([null]);
    }
    await store.deleteShare(partition, share, newTag());
    expect(await openPartTags(open, share)).toEqual([]);
    expect(await store.listShares(partition, null, 10)).toEqual([]);
  });
}
