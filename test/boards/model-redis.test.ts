import { afterAll, beforeAll, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { connectRedis, type RedisConnection } from '../../src/store/redis/connection.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { hourOf } from './model.ts';
import { MODEL_TIME_LIMIT_MS, runModel } from './model-runs.ts';
import { redisBoard, redisStores } from './real-board.ts';

const COMMANDS_MIN = 1_000;
let server: RedisServer;
let connection: RedisConnection;

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

afterAll(async () => {
  connection.close();
  await server.stop();
});

/** A run of one board is far shorter than what has to be left of the hour. */
function isFarFromNextHour(): boolean {
  const nowMs = systemClock.nowMs();
  return hourOf(nowMs) + HOUR_MS - nowMs > 2 * MINUTE_MS;
}

test(
  'a board in Redis answers every question like a plain list that is sorted',
  async () => {
    const counts = { commands: 0 };
    const stores = redisStores(connection);
    let boards = 0;
    await runModel({
      ...{ counts, commandsMin: COMMANDS_MIN, maxCommands: 80, hasHours: isFarFromNextHour },
      open: async () => redisBoard(stores, `board ${(boards += 1)}`, counts),
    });
    console.log(`model of boards, Redis: ${counts.commands} commands`);
  },
  MODEL_TIME_LIMIT_MS,
);
