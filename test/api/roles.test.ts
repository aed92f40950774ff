import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type RunningTally, startTally } from '../../src/main.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { answerOf } from '../support/tally.ts';
import { until } from '../support/until.ts';

let redis: RedisServer;
let running: RunningTally[] = [];
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
afterEach(async () => {
  await Promise.all(running.map((tally) => tally.close()));
  running = [];
});

async function start(env: Record<string, string>): Promise<RunningTally> {
  const config = readConfig({
    TALLY_PORT: '0',
    REDIS_URL: redis.url,
    TALLY_GRACE_SECONDS: '3',
    ...env,
  });
  const tally = await startTally(config, { logger: pino({ level: 'silent' }) });
  running.push(tally);
  return tally;
}

const get = (tally: RunningTally, path: string) => answerOf(fetch(tally.url + path));
const send = (tally: RunningTally, body: string, headers = {}) =>
  answerOf(
    fetch(`${tally.url}/v1/events`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    }),
  );

describe('on Redis', () => {
  test('an API process takes events, a worker process folds them, others answer too', async () => {
    const api = await start({ TALLY_ROLE: 'api' });
    const key = { 'idempotency-key': 'k' };
    const body = '[{"item":"a","actor":"x","count":2}]';
    expect((await send(api, body, key)).json).toMatchObject({ accepted: 1 });
    expect((await get(api, '/metrics')).text).toContain('tally_backlog_entries{partition="0"} 1');
    await start({ TALLY_ROLE: 'worker' });
    const all = await start({});
    await until('the event is counted', async () => {
      return (await get(api, '/top')).json['total'] === 2;
    });
    expect((await send(all, body, key)).json).toMatchObject({ accepted: 0, duplicate: 1 });
    expect((await get(all, '/v1/streams/default/distinct')).json).toMatchObject({ estimate: 1 });
  });

  test('a worker serves health and metrics and takes no events', async () => {
    const worker = await start({ TALLY_ROLE: 'worker' });
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect([path, (await get(worker, path)).status]).toEqual([path, 200]);
    }
    expect((await get(worker, '/metrics')).text).toContain('tally_backlog_entries');
    expect((await send(worker, '[]')).status).toBe(404);
    expect((await get(worker, '/top')).status).toBe(404);
    const { json } = await get(worker, '/openapi.json');
    expect(Object.keys(json['paths'] as object)).not.toContain('/top');
  });

  test('Redis that goes away makes the process not ready, and it recovers by itself', async () => {
    const tally = await start({});
    await send(tally, '[{"item":"b"}]');
    await until('the event is counted', async () => {
      return (await get(tally, '/v1/streams/default/items/b')).json['count'] === 1;
    });
    await redis.kill();
    await until('it is not ready', async () => (await get(tally, '/readyz')).status === 503);
    expect((await get(tally, '/healthz')).status).toBe(200);
    expect((await get(tally, '/v1/streams/default/items/b')).json).toMatchObject({
      count: 1,
      stale: true,
    });
    await redis.restart();
    await until('it is ready', async () => (await get(tally, '/readyz')).status === 200);
    await send(tally, '[{"item":"c"}]');
    await until('events are folded again', async () => {
      return (await get(tally, '/v1/streams/default/items/c')).json['count'] === 1;
    });
  });
});
