import { describe, expect, test } from 'vitest';
import { compareEntryIds, entryTimeMs } from '../../src/streams/entry-id.ts';
import type { AppendOutcome, LogEntry } from '../../src/streams/store-port.ts';
import {
  appendEntry,
  bytesOf,
  newTag,
  type OpenStore,
  requestOf,
  type StreamStoreHarness,
} from './harness.ts';

const APPLIED: AppendOutcome = { kind: 'applied' };
const MIB = 2 ** 20;

function readAll({ store, partition }: OpenStore): Promise<LogEntry[]> {
  return store.readLog(partition, 1_000, Number.MAX_SAFE_INTEGER);
}

function countOf(outcomes: readonly AppendOutcome[], kind: AppendOutcome['kind']): number {
  return outcomes.filter((outcome) => outcome.kind === kind).length;
}

/** Empties the log as a fold does that found nothing in it. */
async function foldAway({ store, partition }: OpenStore, entries: LogEntry[]): Promise<void> {
  const commit = { entries: entries.map(({ id, tag }) => ({ id, tag })), shares: [], aside: [] };
  expect(await store.commitFold(partition, commit)).toBe('applied');
}

export function describeAppend(harness: StreamStoreHarness): void {
  describe('append', () => {
    test('a batch is read back byte for byte, whatever its bytes are', async () => {
      const open = await harness.open();
      const blob = Uint8Array.from({ length: MIB }, (_, i) => i % 256);
      expect(await open.store.append(open.partition, [requestOf({ id: 'a1', blob })])).toEqual([
        APPLIED,
      ]);
      const [entry, ...others] = await readAll(open);
      expect(others).toEqual([]);
      expect(Buffer.compare(entry?.blob as Uint8Array, blob)).toBe(0);
    });

    test('the requests of one call become one entry in their order', async () => {
      const open = await harness.open();
      const requests = ['one', 'two', 'three'].map((text, i) =>
        requestOf({ id: `a${i}`, blob: bytesOf(text) }),
      );
      const outcomes = await open.store.append(open.partition, requests);
      expect(outcomes).toEqual([APPLIED, APPLIED, APPLIED]);
      const entries = await readAll(open);
      expect(entries.map(({ blob }) => Buffer.from(blob).toString())).toEqual(['onetwothree']);
    });

    test('a call without requests does nothing', async () => {
      const open = await harness.open();
      expect(await open.store.append(open.partition, [])).toEqual([]);
      expect(await readAll(open)).toEqual([]);
    });

    test('a batch without events keeps its id and makes no entry', async () => {
      const open = await harness.open();
      const request = requestOf({ id: 'a1', blob: new Uint8Array(0), answer: 'none' });
      expect(await open.store.append(open.partition, [request])).toEqual([APPLIED]);
      expect(await readAll(open)).toEqual([]);
      const retry = requestOf({ id: 'a1' });
      const outcomes = await open.store.append(open.partition, [retry]);
      expect(outcomes).toEqual([{ kind: 'duplicate', answer: 'none' }]);
    });

    test('the own repetition of an attempt is applied and adds nothing', async () => {
      const open = await harness.open();
      const request = requestOf({ id: 'a1' });
      await open.store.append(open.partition, [request]);
      expect(await open.store.append(open.partition, [request, request])).toEqual([
        APPLIED,
        APPLIED,
      ]);
      expect(await readAll(open)).toHaveLength(1);
    });

    test('another attempt with the same id is a duplicate with the first answer', async () => {
      const open = await harness.open();
      const answer = '{"rejected":[[0,"too_old"]]} | \u0000 é 😀';
      await open.store.append(open.partition, [requestOf({ id: 'a1', answer })]);
      const retry = requestOf({ id: 'a1', answer: 'another' });
      expect(await open.store.append(open.partition, [retry])).toEqual([
        { kind: 'duplicate', answer },
      ]);
      expect(await readAll(open)).toHaveLength(1);
    });

    test('the same id with another fingerprint is refused and adds nothing', async () => {
      const open = await harness.open();
      await open.store.append(open.partition, [requestOf({ id: 'a1', fingerprint: 'f1' })]);
      const others = ['f2', 'f1f1', ''].map((fingerprint) => requestOf({ id: 'a1', fingerprint }));
      const outcomes = await open.store.append(open.partition, others);
      expect(countOf(outcomes, 'key_reused')).toBe(3);
      expect(await readAll(open)).toHaveLength(1);
    });

    test('of 50 copies in one call one is applied', async () => {
      const open = await harness.open();
      const copies = Array.from({ length: 50 }, () => requestOf({ id: 'a1', answer: 'x' }));
      const outcomes = await open.store.append(open.partition, copies);
      expect(outcomes[0]).toEqual(APPLIED);
      expect(outcomes.slice(1)).toEqual(Array(49).fill({ kind: 'duplicate', answer: 'x' }));
      const entries = await readAll(open);
      expect(entries.map(({ blob }) => blob.length)).toEqual([bytesOf('batch').length]);
    });

    test('of 50 copies in calls at the same time one is applied', async () => {
      const open = await harness.open();
      const calls = await Promise.all(
        Array.from({ length: 50 }, () =>
          open.store.append(open.partition, [requestOf({ id: 'a1', answer: 'x' })]),
        ),
      );
      expect(countOf(calls.flat(), 'applied')).toBe(1);
      expect(countOf(calls.flat(), 'duplicate')).toBe(49);
      expect(await readAll(open)).toHaveLength(1);
    });

    test('an id of a client and the same id of a server are two ids', async () => {
      const open = await harness.open();
      const requests = (['client', 'server'] as const).map((idSource) =>
        requestOf({ id: 'a1', idSource, fingerprint: '' }),
      );
      expect(await open.store.append(open.partition, requests)).toEqual([APPLIED, APPLIED]);
    });

    test('partitions do not see each other', async () => {
      const open = await harness.open();
      const other = (open.partition + 1) % open.store.partitionCount;
      await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
      expect(await open.store.append(other, [requestOf({ id: 'a1' })])).toEqual([APPLIED]);
      expect(await readAll(open)).toHaveLength(1);
    });
  });

  describe('how much may wait', () => {
    test('the last byte that fits is taken and one more is refused, alone', async () => {
      const open = await harness.open({ maxBacklogBytes: 10 });
      const outcomes = await open.store.append(open.partition, [
        requestOf({ id: 'a1', blob: new Uint8Array(8) }),
        requestOf({ id: 'a2', blob: new Uint8Array(3) }),
        requestOf({ id: 'a3', blob: new Uint8Array(2) }),
        requestOf({ id: 'a4', blob: new Uint8Array(1) }),
      ]);
      const kinds = outcomes.map(({ kind }) => kind);
      expect(kinds).toEqual(['applied', 'backlog_full', 'applied', 'backlog_full']);
      const stats = await open.store.readStats(open.partition);
      expect(stats.waitingBytes).toBe(10);
    });

    test('the last entry that fits is taken and one more is refused', async () => {
      const open = await harness.open({ maxBacklogEntries: 2 });
      for (const kind of ['applied', 'applied', 'backlog_full']) {
        const outcomes = await open.store.append(open.partition, [requestOf({ id: newTag() })]);
        expect(outcomes.map((outcome) => outcome.kind)).toEqual([kind]);
      }
      expect(await readAll(open)).toHaveLength(2);
    });

    test('a refused batch is not remembered and is taken once there is room', async () => {
      const open = await harness.open({ maxBacklogEntries: 1 });
      const entry = await appendEntry(open);
      const refused = requestOf({ id: 'a2' });
      expect((await open.store.append(open.partition, [refused]))[0]?.kind).toBe('backlog_full');
      await foldAway(open, [entry]);
      expect(await open.store.append(open.partition, [refused])).toEqual([APPLIED]);
    });

    test('a full backlog still recognises ids and keeps those of empty batches', async () => {
      const open = await harness.open({ maxBacklogEntries: 1 });
      await open.store.append(open.partition, [requestOf({ id: 'a1', answer: 'x' })]);
      const outcomes = await open.store.append(open.partition, [
        requestOf({ id: 'a1' }),
        requestOf({ id: 'a2', blob: new Uint8Array(0) }),
      ]);
      expect(outcomes).toEqual([{ kind: 'duplicate', answer: 'x' }, APPLIED]);
    });

    test('what was moved aside still counts', async () => {
      const open = await harness.open({ maxBacklogBytes: 10 });
      const { id, tag } = await appendEntry(open, new Uint8Array(6));
      const aside = [{ reason: 'damaged', blob: new Uint8Array(6) }];
      const commit = { entries: [{ id, tag }], shares: [], aside };
      expect(await open.store.commitFold(open.partition, commit)).toBe('applied');
      expect(await open.store.readStats(open.partition)).toEqual({
        waitingEntries: 0,
        waitingBytes: 6,
        oldestWaitingMs: null,
        damagedEntries: 1,
      });
      const outcomes = await open.store.append(open.partition, [
        requestOf({ id: 'a1', blob: new Uint8Array(5) }),
        requestOf({ id: 'a2', blob: new Uint8Array(4) }),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual(['backlog_full', 'applied']);
    });
  });

  describe('how long and how many ids are remembered', () => {
    test.each(['client', 'server'] as const)('a %s id lives for its time', async (idSource) => {
      const ttlMs = 200;
      const ttls = { clientIdTtlMs: ttlMs, serverIdTtlMs: ttlMs };
      const open = await harness.open(ttls);
      const writtenAtMs = await open.nowMs();
      const again = async (): Promise<AppendOutcome | undefined> => {
        const request = requestOf({ id: 'a1', idSource });
        return (await open.store.append(open.partition, [request]))[0];
      };
      expect((await again())?.kind).toBe('applied');
      for (;;) {
        const outcome = await again();
        if ((await open.nowMs()) >= writtenAtMs + ttlMs) {
          break;
        }
        expect(outcome?.kind).toBe('duplicate');
        await open.passMs(ttlMs / 10);
      }
      // It may be remembered longer, but not for ever.
      await open.passMs(2 * ttlMs);
      expect((await again())?.kind).toBe('applied');
    });

    test('the last id that fits is taken, one more is refused, known ones are answered', async () => {
      const open = await harness.open({ maxRememberedIds: 2 });
      const outcomes = await open.store.append(open.partition, [
        requestOf({ id: 'a1', answer: 'x' }),
        requestOf({ id: 'a2' }),
        requestOf({ id: 'a3' }),
        requestOf({ id: 'a1' }),
        requestOf({ id: 'a3', idSource: 'server' }),
      ]);
      expect(outcomes.map(({ kind }) => kind)).toEqual([
        ...['applied', 'applied', 'ids_full', 'duplicate', 'applied'],
      ]);
      const later = await open.store.append(open.partition, [
        requestOf({ id: 'a3' }),
        requestOf({ id: 'a2' }),
      ]);
      expect(later.map(({ kind }) => kind)).toEqual(['ids_full', 'duplicate']);
      expect(await readAll(open)).toHaveLength(1);
    });

    test('there is room for ids again when old ones are forgotten', async () => {
      const ttlMs = 100;
      const open = await harness.open({ maxRememberedIds: 1, clientIdTtlMs: ttlMs });
      await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
      await open.passMs(2 * ttlMs);
      expect(await open.store.append(open.partition, [requestOf({ id: 'a2' })])).toEqual([APPLIED]);
    });
  });

  describe('the log', () => {
    test('gives the oldest entries first, as many as asked for', async () => {
      const open = await harness.open();
      for (const text of ['one', 'two', 'three']) {
        await appendEntry(open, bytesOf(text));
      }
      const entries = await open.store.readLog(open.partition, 2, MIB);
      expect(entries.map(({ blob }) => Buffer.from(blob).toString())).toEqual(['one', 'two']);
    });

    test('gives what fits into the bytes asked for, but at least one entry', async () => {
      const open = await harness.open();
      for (const size of [5, 3, 2]) {
        await appendEntry(open, new Uint8Array(size));
      }
      const sizesUpTo = async (maxBytes: number): Promise<number[]> => {
        const entries = await open.store.readLog(open.partition, 10, maxBytes);
        return entries.map(({ blob }) => blob.length);
      };
      expect(await sizesUpTo(1)).toEqual([5]);
      expect(await sizesUpTo(7)).toEqual([5]);
      expect(await sizesUpTo(8)).toEqual([5, 3]);
      expect(await sizesUpTo(10)).toEqual([5, 3, 2]);
    });

    test('has ascending ids that hold the time, and a tag for each entry', async () => {
      const open = await harness.open();
      const beforeMs = await open.nowMs();
      for (let i = 0; i < 20; i++) {
        await appendEntry(open);
      }
      const afterMs = await open.nowMs();
      const entries = await readAll(open);
      const ids = entries.map(({ id }) => id);
      expect([...ids].sort(compareEntryIds)).toEqual(ids);
      expect(new Set(ids).size).toBe(20);
      expect(new Set(entries.map(({ tag }) => tag)).size).toBe(20);
      const oldestMs = entryTimeMs(ids[0] ?? '');
      expect(oldestMs).toBeGreaterThanOrEqual(beforeMs);
      expect(oldestMs).toBeLessThanOrEqual(afterMs);
    });

    test('tells what waits and since when', async () => {
      const open = await harness.open();
      const [first, second] = [
        await appendEntry(open, new Uint8Array(3)),
        await appendEntry(open, new Uint8Array(4)),
      ];
      expect(await open.store.readStats(open.partition)).toEqual({
        waitingEntries: 2,
        waitingBytes: 7,
        oldestWaitingMs: entryTimeMs(first.id),
        damagedEntries: 0,
      });
      await foldAway(open, [first]);
      expect(await open.store.readStats(open.partition)).toEqual({
        waitingEntries: 1,
        waitingBytes: 4,
        oldestWaitingMs: entryTimeMs(second.id),
        damagedEntries: 0,
      });
      await foldAway(open, [second]);
      const { oldestWaitingMs, waitingBytes } = await open.store.readStats(open.partition);
      expect([oldestWaitingMs, waitingBytes]).toEqual([null, 0]);
    });
  });
}
