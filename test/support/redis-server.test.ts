import { existsSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { type RedisServer, startRedis } from './redis-server.ts';

const started: RedisServer[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});

async function start(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const server = await startRedis(options);
  started.push(server);
  return server;
}

test('a started server answers, and two of them do not share data', async () => {
  const [one, two] = await Promise.all([start(), start()]);
  await one.cli('SET', 'key', 'value');
  expect(await one.cli('GET', 'key')).toBe('value');
  expect(await two.cli('EXISTS', 'key')).toBe('0');
});

test('with appendfsync always, what was written survives kill -9 and a restart', async () => {
  const server = await start({ appendfsync: 'always' });
  const { pid, port } = server;
  await server.cli('SET', 'key', 'value');
  await server.kill('SIGKILL');
  await expect(server.cli('PING')).rejects.toThrow();
  await server.restart();
  expect(await server.cli('GET', 'key')).toBe('value');
  expect(server.port).toBe(port);
  expect(server.pid).not.toBe(pid);
});

test('without an append-only file a restart begins empty', async () => {
  const server = await start();
  await server.cli('SET', 'key', 'value');
  await server.restart();
  expect(await server.cli('EXISTS', 'key')).toBe('0');
});

test('an error reply rejects', async () => {
  const server = await start();
  await server.cli('SET', 'key', 'value');
  await expect(server.cli('LPUSH', 'key', 'x')).rejects.toThrow(/WRONGTYPE/);
});

test('a server that cannot start says why', async () => {
  await expect(startRedis({ args: ['--no-such-setting', '1'] })).rejects.toThrow(/no-such-setting/);
});

test('stop ends the process and removes its directory', async () => {
  const server = await startRedis();
  const { pid, dir } = server;
  await server.stop();
  expect(existsSync(dir)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
});
