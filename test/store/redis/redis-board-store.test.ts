import { afterAll, beforeAll } from 'vitest';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { slotOfHashTag } from '../../../src/store/redis/hash-slot.ts';
import { RedisBoardStore } from '../../../src/store/redis/redis-board-store.ts';
import { type BoardLimits, type OpenBoards, ROOMY_BOARD } from '../../contract/board-harness.ts';
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

describeBoardStore({ open: async (limits) => openOn(limits) });
