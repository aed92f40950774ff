import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { slotOfHashTag } from '../../../src/store/redis/hash-slot.ts';
import { BoardPartKeys } from '../../../src/store/redis/keys.ts';
import { RedisBoardStore } from '../../../src/store/redis/redis-board-store.ts';
import {
  batchOf,
  type BoardLimits,
  entryOf,
  type OpenBoards,
  openPartOn,
  PartUnderTest,
  requestOf,
  ROOMY_BOARD,
} from '../../contract/board-harness.ts';
import { describeBoardStore } from '../../contract/board-store.contract.ts';
import { newTag } from '../../contract/harness.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

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

/** Parts have names of their own, so all tests share one Redis. */
function openOn(limits: Partial<BoardLimits> = {}): OpenBoards {
  const nowMs = async (): Promise<number> => {
    const [seconds, micros] = await connection.reads.send(slotOfHashTag('time'), (node) =>
      node.time(),
    );
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  };
  return {
    store: new RedisBoardStore(connection, { ...ROOMY_BOARD, ...limits, ack: null }, newTag),
    nowMs,
    passMs: async (ms) => {
      const endMs = (await nowMs()) + ms;
      await until(`${ms} ms have passed in Redis`, async () => (await nowMs()) >= endMs);
    },
  };
}

const harness = { open: async (limits?: Partial<BoardLimits>) => openOn(limits) };

describeBoardStore(harness);

function keysOf(part: PartUnderTest): { fixed: readonly string[]; seasons: string[][] } {
  const keys = new BoardPartKeys(part.at.part);
  return { fixed: keys.fixed, seasons: part.seasons.map(({ view, id }) => keys.season(view, id)) };
}

async function expiriesOf(keys: readonly string[]): Promise<number[]> {
  return Promise.all(keys.map(async (key) => Number(await server.cli('PEXPIRETIME', key))));
}

describe('what Redis frees by itself', () => {
  test('are the sets of a season that ends, and never those of all-time', async () => {
    const part = await openPartOn(harness, { ties: 'dense' });
    await part.put(['a', 1], ['b', 2]);
    await part.hide('a');
    const [allTime, season] = keysOf(part).seasons;
    // Only with ties `earliest` a season has times of its own.
    const { expiresAtMs } = part.season;
    const [shown, hidden, times, ...others] = await expiriesOf(season!);
    expect([shown, hidden, ...others]).toEqual([1, 2, 3, 4, 5].map(() => expiresAtMs));
    expect(times).toBe(-2);
    expect(await expiriesOf(allTime!)).toEqual(allTime!.map(() => -1));
    const timed = await openPartOn(harness);
    await timed.put(['a', 1]);
    const timesKey = keysOf(timed).seasons[1]![2]!;
    expect(await expiriesOf([timesKey])).toEqual([timed.season.expiresAtMs]);
  });

  test('is what is remembered, while the part and its state stay', async () => {
    const part = await openPartOn(harness, {}, { keyTtlMs: 80, idTtlMs: 80, callTtlMs: 80 });
    for (let i = 0; i < 30; i++) {
      const entries = [entryOf('a', 1, { id: newTag() })];
      await part.apply(entries, { key: batchOf(newTag(), 1) });
      await part.boards.passMs(10);
    }
    const [state, , members, , , ...rings] = keysOf(part).fixed;
    expect(await expiriesOf(rings)).not.toContain(-1);
    expect(await expiriesOf([state!, members!])).toEqual([-1, -1]);
  });

  test('is all of a part that is dropped', async () => {
    const part = await openPartOn(harness);
    const key = batchOf('k', 1);
    await part.apply([entryOf('a', 1, { id: 'i' }), entryOf('b', 1)], { key });
    await part.edit('b', { kind: 'change', isHidden: true, meta: '{}' });
    await part.prepare(['a']);
    await part.store.dropPart(part.at.part, part.seasons);
    expect((await server.cli('KEYS', `*${part.at.part}*`)).trim()).toBe('');
  });
});

describe('failures', () => {
  test('scripts that the server has forgotten are sent again', async () => {
    const part = await openPartOn(harness);
    await server.cli('SCRIPT', 'FLUSH');
    await part.put(['a', 1]);
    await server.cli('SCRIPT', 'FLUSH');
    expect(await part.standing()).toEqual(['a 1']);
  });

  test('a write that too few replicas have is of unknown outcome, and may be repeated', async () => {
    const part = await openPartOn(harness);
    const { nowMs, passMs } = part.boards;
    const settings = { ...ROOMY_BOARD, ack: { replicas: 1, timeoutMs: 50 } };
    const store = new RedisBoardStore(connection, settings, newTag);
    const acked = new PartUnderTest({ store, nowMs, passMs }, part.at, part.seasons);
    const callId = newTag();
    const requests = [requestOf([entryOf('a', 1, { id: 'i' })])];
    // Also that something is remembered is an acknowledgement.
    await expect(acked.write(requests, callId)).rejects.toThrow(OutcomeUnknownError);
    await expect(acked.write(requests, callId)).rejects.toThrow(OutcomeUnknownError);
    await expect(acked.ids('i')).rejects.toThrow(OutcomeUnknownError);
    expect((await server.cli('EXISTS', keysOf(part).fixed[1]!)).trim()).toBe('1');
    expect(await acked.standing()).toEqual(['a 1']);
    expect(await part.run(requests, callId)).toMatchObject([{ entries: [{ key: 1 }] }]);
    expect(await part.standing()).toEqual(['a 1']);
  });

  test('with its memory full, Redis refuses scores whole, answers, and lets members go', async () => {
    const full = await startRedis({ args: ['--maxmemory', '64mb'] });
    const other = await connectRedis(full.url);
    try {
      const settings = { ...ROOMY_BOARD, ack: null };
      const store = new RedisBoardStore(other, settings, newTag);
      const { nowMs, passMs } = openOn();
      const part = await openPartOn({ open: async () => ({ store, nowMs, passMs }) });
      await part.put(['a', 1], ['b', 2], ['c', 3]);
      const chunk = await part.prepare(['b']);
      await full.cli('CONFIG', 'SET', 'maxmemory', '1mb');
      await expect(part.put(['a', 1])).rejects.toThrow(StoreUnavailableError);
      expect(await part.standing()).toEqual(['a 1', 'b 2', 'c 3']);
      expect(await part.edit('c', { kind: 'delete' })).toEqual({ kind: 'edited' });
      expect(await part.release(chunk!.number)).toEqual({ kind: 'done' });
      expect(await part.standing()).toEqual(['a 1']);
      await store.dropPart(part.at.part, part.seasons);
      expect(await part.read([])).toEqual({ kind: 'gone' });
    } finally {
      other.close();
      await full.stop();
    }
  });
});
