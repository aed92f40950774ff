import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BrokenStreamError, StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { PartitionKeys } from '../../../src/store/redis/keys.ts';
import { readShareIndex } from '../../../src/streams/share-index.ts';
import type { Column } from '../../../src/streams/store-port.ts';
import { bucketOf, DAY_MS, expiresAtMs, HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
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
  shareFoldOf,
  summaryOf,
} from '../../contract/harness.ts';
import { describeStreamStore } from '../../contract/stream-store.contract.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { openOn } from './redis-harness.ts';

let server: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

afterAll(async () => {
  connection?.close();
  await server?.stop();
});

describeStreamStore({ open: async (limits) => openOn(connection, limits) });

type Open = ReturnType<typeof openOn>;

const COLUMNS: readonly Column[] = ['counts', 'viewers'];

function keysOf(open: Open): PartitionKeys {
  return new PartitionKeys(open.tag);
}

describe('keys that hold what they must not hold', () => {
  test.each(['record', 'open', 'parts'] as const)(
    "a stream's broken %s harms that stream only, and a deletion repairs it",
    async (which) => {
      const open = openOn(connection);
      const { store, partition } = open;
      const bucket = await currentMinute(open);
      await foldInto(open, { share: 'a' });
      await foldInto(open, { share: 'b', parts: [partOf({ bucket })] });
      const key = keysOf(open).share('a')[which];
      await server.cli('DEL', key);
      await server.cli('LPUSH', key, 'x');
      await expect(readShareIndex(store, partition, 'a', [])).rejects.toThrow(BrokenStreamError);
      const { id, tag } = await appendEntry(open);
      const fold = await shareFoldOf(open, { share: 'a', parts: [partOf({ bucket })] });
      const other = await shareFoldOf(open, { share: 'b', parts: [partOf({ bucket })] });
      const commit = { entries: [{ id, tag }], shares: [other, fold], aside: [] };
      expect(await store.commitFold(partition, commit)).toBe('conflict');
      const compaction = compactionOf({ share: 'a', summaries: [] });
      expect(await store.commitCompaction(partition, compaction)).toBe('conflict');
      expect(await openPartTags(open, 'b')).toHaveLength(1);
      const listed = await store.listShares(partition, null, 10);
      expect(listed.map(({ share }) => share)).toEqual(which === 'record' ? ['b'] : ['a', 'b']);
      const next = newTag();
      await store.deleteShare(partition, 'a', next);
      expect((await readShareIndex(store, partition, 'a', [])).generation).toBe(next);
    },
  );

  test('reads of a broken key of the stream say that the stream is broken', async () => {
    const open = openOn(connection);
    const { store, partition } = open;
    const { record, parts } = keysOf(open).share('a');
    await server.cli('SET', record, 'x');
    await server.cli('SET', parts, 'x');
    const bucket = await currentHour(open);
    const reads = [
      store.readParts(partition, 'a', [newTag()]),
      store.readSummaries(partition, 'a', [bucket], 'counts'),
      store.dropStaleSummaries(partition, 'a', [bucket]),
    ];
    for (const outcome of await Promise.allSettled(reads)) {
      expect(outcome).toMatchObject({ reason: expect.any(BrokenStreamError) });
    }
  });

  test('of several shares, a broken one is marked, and the others are read', async () => {
    const open = openOn(connection);
    const bucket = await currentMinute(open);
    await foldInto(open, { share: 'a', parts: [partOf({ bucket })] });
    await foldInto(open, { share: 'b', parts: [partOf({ bucket })] });
    await server.cli('SET', keysOf(open).share('broken').open, 'x');
    const asked = ['a', 'broken', 'b'].map((share) => ({ share, buckets: [bucket] }));
    const { shares } = await open.store.readIndex(open.partition, asked);
    expect(shares.map((index) => index?.parts.length)).toEqual([1, undefined, 1]);
    expect(shares[1]).toBeNull();
  });

  test.each([
    ['a list', ['LPUSH', 'x']],
    ['a text too short', ['SET', 'x']],
  ] as const)('viewers that are %s are read as absent and can be replaced', async (_, write) => {
    const open = openOn(connection);
    const { store, partition } = open;
    const bucket = await currentMinute(open);
    const viewers = bytesOf('who');
    const first = await summaryOf(open, { bucket, viewers });
    await store.commitCompaction(partition, compactionOf({ share: 'a', summaries: [first] }));
    const key = keysOf(open).summary('a', bucket, 'viewers');
    await server.cli('DEL', key);
    await server.cli(write[0], key, write[1]);
    expect(await store.readSummaries(partition, 'a', [bucket], 'viewers')).toEqual([null]);
    const next = await summaryOf(open, { bucket, expectedTag: first.tag, viewers });
    const commit = compactionOf({ share: 'a', summaries: [next] });
    expect(await store.commitCompaction(partition, commit)).toBe('applied');
    const [stored] = await store.readSummaries(partition, 'a', [bucket], 'viewers');
    expect(stored?.tag).toBe(next.tag);
  });

  test('a damaged index line says that the stream is broken', async () => {
    const open = openOn(connection);
    const line = 'minute:x:1:1';
    await server.cli('HSET', keysOf(open).share('a').open, newTag(), line);
    const read = readShareIndex(open.store, open.partition, 'a', []);
    await expect(read).rejects.toThrow(BrokenStreamError);
  });

  test.each([
    ['a list', ['LPUSH', 'x']],
    ['a text too short', ['SET', 'x']],
  ] as const)('a summary that is %s is broken alone and can be replaced', async (_, write) => {
    const open = openOn(connection);
    const { store, partition } = open;
    const [minute, hour] = [await currentMinute(open), await currentHour(open)];
    const whole = await summaryOf(open, { bucket: hour });
    await store.commitCompaction(partition, compactionOf({ share: 'a', summaries: [whole] }));
    const [command, value] = write;
    await server.cli(command, keysOf(open).summary('a', minute, 'counts'), value);
    const { summaryTags } = await readShareIndex(store, partition, 'a', [minute, hour]);
    expect(summaryTags).toEqual(['broken', whole.tag]);
    const stored = await store.readSummaries(partition, 'a', [minute, hour], 'counts');
    expect(stored.map((summary) => summary?.tag)).toEqual([undefined, whole.tag]);
    const blind = await summaryOf(open, { bucket: minute, expectedTag: null });
    const blindly = compactionOf({ share: 'a', summaries: [blind] });
    expect(await store.commitCompaction(partition, blindly)).toBe('conflict');
    const repair = await summaryOf(open, { bucket: minute, expectedTag: 'broken' });
    const commit = compactionOf({ share: 'a', summaries: [repair] });
    expect(await store.commitCompaction(partition, commit)).toBe('applied');
    const after = await readShareIndex(store, partition, 'a', [minute]);
    expect(after.summaryTags).toEqual([repair.tag]);
  });

  test.each(['log', 'blobs', 'state', 'damaged'] as const)(
    "a partition's broken %s refuses appends and changes nothing",
    async (which) => {
      const open = openOn(connection);
      const keys = keysOf(open);
      await server.cli('SET', keys[which], 'x');
      const append = open.store.append(open.partition, [requestOf({ id: 'a1' })]);
      await expect(append).rejects.toThrow(StoreUnavailableError);
      await server.cli('DEL', keys[which]);
      const outcomes = await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
      expect(outcomes).toEqual([{ kind: 'applied' }]);
      expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(1);
    },
  );

  test.each(['damaged', 'due', 'listed'] as const)(
    "a partition's broken %s refuses folds and changes nothing",
    async (which) => {
      const open = openOn(connection);
      const { id, tag } = await appendEntry(open);
      await server.cli('SET', keysOf(open)[which], 'x');
      const parts = [partOf({ bucket: await currentMinute(open) })];
      const fold = await shareFoldOf(open, { share: 'a', parts });
      const commit = { entries: [{ id, tag }], shares: [fold], aside: [] };
      const folding = open.store.commitFold(open.partition, commit);
      await expect(folding).rejects.toThrow(StoreUnavailableError);
      expect(await openPartTags(open, 'a')).toEqual([]);
      expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(1);
    },
  );

  test('a part that has lost its blob is read as absent and can be compacted away', async () => {
    const open = openOn(connection);
    const { store, partition } = open;
    const bucket = await currentMinute(open);
    const [whole, lost] = [partOf({ bucket }), partOf({ bucket })];
    await foldInto(open, { share: 'a', parts: [whole, lost] });
    await server.cli('HDEL', keysOf(open).share('a').parts, lost.tag);
    expect(await store.readParts(partition, 'a', [lost.tag])).toEqual([null]);
    const summaries = [await summaryOf(open, { bucket })];
    const parts = { removeParts: [whole.tag], lostParts: [lost.tag] };
    const commit = compactionOf({ share: 'a', ...parts, summaries });
    expect(await store.commitCompaction(partition, commit)).toBe('applied');
    expect(await openPartTags(open, 'a')).toEqual([]);
    expect(await store.readDueShares(partition, 1e15, 10)).toEqual([]);
  });

  test('an entry that has lost its blob is given with an empty one, and can be folded', async () => {
    const open = openOn(connection);
    const [lost, whole] = [await appendEntry(open), await appendEntry(open)];
    await server.cli('HDEL', keysOf(open).blobs, lost.tag);
    const entries = await open.store.readLog(open.partition, 10, 1_000);
    expect(entries.map(({ id, blob }) => [id, blob.length])).toEqual([
      [lost.id, 0],
      [whole.id, 5],
    ]);
    const aside = [{ reason: 'no bytes', blob: new Uint8Array(0) }];
    const commit = { entries: [{ id: lost.id, tag: lost.tag }], shares: [], aside };
    expect(await open.store.commitFold(open.partition, commit)).toBe('applied');
  });
});

describe('what Redis frees by itself', () => {
  test('summaries and records carry the time of their expiry, and open parts none', async () => {
    const open = openOn(connection);
    const { store, partition } = open;
    const bucket = await currentMinute(open);
    const keptUntilMs = (await open.nowMs()) + HOUR_MS;
    await foldInto(open, { share: 'a', parts: [partOf({ bucket })], keptUntilMs });
    await foldInto(open, { share: 'a', keptUntilMs: keptUntilMs - 1_000 });
    const viewers = bytesOf('who');
    const summary = await summaryOf(open, { bucket, viewers, expiresAtMs: keptUntilMs + 7 });
    const commit = { share: 'a', summaries: [summary], remainingParts: 1, compactAtMs: 1 };
    await store.commitCompaction(partition, compactionOf(commit));
    const keys = keysOf(open);
    const { record, open: openKey, parts } = keys.share('a');
    const columns = COLUMNS.map((column) => keys.summary('a', bucket, column));
    const expiries = [record, ...columns, openKey, parts, keys.log];
    expect(await Promise.all(expiries.map((key) => server.cli('PEXPIRETIME', key)))).toEqual([
      ...[`${keptUntilMs}`, `${keptUntilMs + 7}`, `${keptUntilMs + 7}`, '-1', '-1', '-1'],
    ]);
  });

  test('replaced and rewritten keys keep their expiry', async () => {
    const open = openOn(connection);
    const bucket = await currentMinute(open);
    const first = await summaryOf(open, { bucket });
    const second = await summaryOf(open, { bucket, expectedTag: first.tag, expiresAtMs: 4e12 });
    for (const summaries of [[first], [second]]) {
      const commit = compactionOf({ share: 'a', summaries });
      expect(await open.store.commitCompaction(open.partition, commit)).toBe('applied');
    }
    const key = keysOf(open).summary('a', bucket, 'counts');
    expect(await server.cli('PEXPIRETIME', key)).toBe('4000000000000');
  });

  test('the record of a deletion outlives every summary', async () => {
    const open = openOn(connection, { longestRetentionMs: 400 * DAY_MS });
    const beforeMs = await open.nowMs();
    await open.store.deleteShare(open.partition, 'a', newTag());
    const expiry = Number(await server.cli('PEXPIRETIME', keysOf(open).share('a').record));
    const tomorrow = bucketOf('day', beforeMs + DAY_MS);
    const retention = { minute: HOUR_MS, hour: HOUR_MS, day: 400 * DAY_MS };
    expect(expiry).toBeGreaterThanOrEqual(expiresAtMs(tomorrow, retention) - 1_000);
  });

  test('every ring of ids expires, and its keys stay as many as they are', async () => {
    const open = openOn(connection, { clientIdTtlMs: 80, serverIdTtlMs: 80 });
    for (let i = 0; i < 30; i++) {
      await open.store.append(open.partition, [
        requestOf({ id: newTag(), blob: new Uint8Array(0) }),
        requestOf({ id: newTag(), blob: new Uint8Array(0), idSource: 'server' }),
      ]);
      await open.passMs(10);
    }
    const rings = keysOf(open).idRings;
    const expiries = await Promise.all(rings.map((key) => server.cli('PEXPIRETIME', key)));
    expect(expiries).not.toContain('-1');
    expect(rings).toHaveLength(9);
  });

  test('stale summaries are freed, and nothing else', async () => {
    const open = openOn(connection);
    const { store, partition } = open;
    const [minute, hour] = [await currentMinute(open), await currentHour(open)];
    const viewers = bytesOf('who');
    const old = [
      await summaryOf(open, { bucket: minute, viewers }),
      await summaryOf(open, { bucket: hour, viewers }),
    ];
    await store.commitCompaction(partition, compactionOf({ share: 'a', summaries: old }));
    const next = newTag();
    await store.deleteShare(partition, 'a', next);
    const fresh = await summaryOf(open, { bucket: hour, viewers });
    const commit = compactionOf({ share: 'a', generation: next, summaries: [fresh] });
    await store.commitCompaction(partition, commit);
    const keys = [minute, hour].flatMap((bucket) =>
      COLUMNS.map((column) => keysOf(open).summary('a', bucket, column)),
    );
    const exist = (): Promise<string[]> =>
      Promise.all(keys.map((key) => server.cli('EXISTS', key)));
    expect(await exist()).toEqual(['1', '1', '1', '1']);
    await store.dropStaleSummaries(partition, 'a', [minute, hour]);
    expect(await exist()).toEqual(['0', '0', '1', '1']);
  });

  test('names of streams that are over leave the list, and damaged entries the count', async () => {
    const open = openOn(connection, { maxBacklogBytes: 10 });
    const { store, partition } = open;
    const keys = keysOf(open);
    await foldInto(open, { share: 'a' });
    await server.cli('DEL', keys.share('a').record);
    expect(await store.listShares(partition, null, 10)).toEqual([]);
    expect(await server.cli('ZCARD', keys.listed)).toBe('0');
    const aside = [{ reason: 'damaged', blob: new Uint8Array(9) }];
    await store.commitFold(partition, { entries: [], shares: [], aside });
    await server.cli('DEL', keys.damaged);
    expect((await store.readStats(partition)).waitingBytes).toBe(0);
    await store.commitFold(partition, { entries: [], shares: [], aside });
    expect((await store.readStats(partition)).waitingBytes).toBe(9);
    const reason = await server.cli('XRANGE', keys.damaged, '-', '+');
    expect(reason).toContain('damaged');
  });
});

describe('the cost in commands', () => {
  beforeEach(async () => {
    await server.cli('CONFIG', 'RESETSTAT');
  });

  /** How often a client sent each command since the last RESETSTAT; scripts' calls left out. */
  async function sentCommands(): Promise<Record<string, number>> {
    const info = await server.cli('INFO', 'commandstats');
    const counts = [...info.matchAll(/cmdstat_([\w|]+):calls=(\d+)/g)].map(
      ([, name = '', calls]) => [name, Number(calls)] as const,
    );
    const relevant = ['evalsha', 'eval', 'mget', 'wait', 'hmget', 'xrange', 'get'];
    return Object.fromEntries(counts.filter(([name]) => relevant.includes(name)));
  }

  test('an append of many requests is one script, and nothing is read twice', async () => {
    const open = openOn(connection);
    const requests = Array.from({ length: 64 }, () => requestOf({ id: newTag() }));
    await open.store.append(open.partition, requests);
    expect(await sentCommands()).toMatchObject({ evalsha: 1 });
    expect(await sentCommands()).not.toHaveProperty('wait');
  });

  test('an index of an hour of three shares is one script that reads no blob', async () => {
    const open = openOn(connection);
    const start = await currentHour(open);
    const buckets = Array.from({ length: 60 }, (_, i) =>
      bucketOf('minute', start.startMs - i * MINUTE_MS),
    );
    const asked = ['a', 'b', 'c'].map((share) => ({ share, buckets }));
    await open.store.readIndex(open.partition, asked);
    const sent = await sentCommands();
    expect(sent['evalsha']).toBe(1);
    expect(sent).not.toHaveProperty('mget');
    expect(sent).not.toHaveProperty('get');
  });

  test('the summaries of an hour come in two round trips', async () => {
    const open = openOn(connection);
    const start = await currentHour(open);
    const summaries = await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        const bucket = bucketOf('minute', start.startMs - i * MINUTE_MS);
        return summaryOf(open, { bucket, counts: new Uint8Array(100_000) });
      }),
    );
    const { store, partition } = open;
    await store.commitCompaction(partition, compactionOf({ share: 'a', summaries }));
    await server.cli('CONFIG', 'RESETSTAT');
    const buckets = summaries.map(({ bucket }) => bucket);
    expect(await store.readSummaries(partition, 'a', buckets, 'counts')).not.toContain(null);
    expect(await sentCommands()).toEqual({ mget: 2 });
  });
});

test('scripts that the server has forgotten are sent again', async () => {
  const open = openOn(connection);
  await appendEntry(open);
  await server.cli('SCRIPT', 'FLUSH');
  const outcomes = await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
  expect(outcomes).toEqual([{ kind: 'applied' }]);
  await server.cli('SCRIPT', 'FLUSH');
  await foldInto(open, { share: 'a', parts: [partOf({ bucket: await currentMinute(open) })] });
  expect(await openPartTags(open, 'a')).toHaveLength(1);
});

test('with its memory full, Redis refuses appends but lets folds free what waits', async () => {
  const full = await startRedis({ args: ['--maxmemory', '64mb'] });
  const other = await connectRedis(full.url);
  try {
    const open = openOn(other);
    const blob = new Uint8Array(100_000);
    const entry = await appendEntry(open, blob);
    await full.cli('CONFIG', 'SET', 'maxmemory', '1mb');
    const append = open.store.append(open.partition, [requestOf({ id: 'a1' })]);
    await expect(append).rejects.toThrow(StoreUnavailableError);
    const fold = await shareFoldOf(open, {
      share: 'a',
      parts: [partOf({ bucket: await currentMinute(open), blob: bytesOf('small') })],
    });
    const entries = [{ id: entry.id, tag: entry.tag }];
    const commit = { entries, shares: [fold], aside: [] };
    expect(await open.store.commitFold(open.partition, commit)).toBe('applied');
    expect(await openPartTags(open, 'a')).toHaveLength(1);
  } finally {
    other.close();
    await full.stop();
  }
});
