import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { connectRedis } from '../../src/store/redis/connection.ts';
import { PartitionKeys } from '../../src/store/redis/keys.ts';
import { appendEntry, newTag, requestOf } from '../contract/harness.ts';
import { openOn } from '../store/redis/redis-harness.ts';
import { findFreePort } from '../support/free-port.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

const toClose: { close(): unknown }[] = [];

afterEach(async () => {
  for (const resource of toClose.splice(0).toReversed()) {
    await resource.close();
  }
});

async function start(args: readonly string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  toClose.push({ close: () => server.stop() });
  return server;
}

/** A Sentinel of its own that watches the primary as `tally`; answers a client of it. */
async function startSentinel(primary: RedisServer): Promise<{ port: number; client: Redis }> {
  const dir = await mkdtemp(join(tmpdir(), 'tally-sentinel-'));
  const port = await findFreePort();
  const config = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`],
    `sentinel monitor tally 127.0.0.1 ${primary.port} 1`,
  ];
  const configPath = join(dir, 'sentinel.conf');
  await writeFile(configPath, `${config.join('\n')}\n`);
  const command = ['--pdeathsig', 'KILL', '--', 'redis-server', configPath, '--sentinel'];
  const child: ChildProcess = spawn('setpriv', command, { stdio: 'ignore' });
  const client = new Redis({ port, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  toClose.push({
    close: async () => {
      client.disconnect();
      child.kill('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    },
  });
  await until('Sentinel knows the primary', () =>
    client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'tally').then(
      (address) => Array.isArray(address),
      () => false,
    ),
  );
  return { port, client };
}

/** What Sentinel does first in a failover, at once instead of in ten seconds. */
async function changeRoles(
  primary: RedisServer,
  replica: RedisServer,
  sentinel: Redis,
): Promise<void> {
  await replica.cli('REPLICAOF', 'NO', 'ONE');
  await primary.cli('REPLICAOF', '127.0.0.1', String(replica.port));
  await sentinel.call('SENTINEL', 'REMOVE', 'tally');
  await sentinel.call('SENTINEL', 'MONITOR', 'tally', '127.0.0.1', String(replica.port), '1');
}

test('the primary is found through Sentinel, and the next one after a failover', async () => {
  const primary = await start(['--repl-diskless-sync-delay', '0']);
  const replica = await start(['--replicaof', '127.0.0.1', String(primary.port)]);
  await until('the replica is in step', async () =>
    (await replica.cli('INFO', 'replication')).includes('master_link_status:up'),
  );
  const sentinel = await startSentinel(primary);
  const connection = await connectRedis(`redis+sentinel://127.0.0.1:${sentinel.port}/tally`);
  toClose.push(connection);
  const open = openOn(connection);
  const first = await appendEntry(open);
  const { log } = new PartitionKeys(open.tag);
  await until('the replica has the entry', async () => (await replica.cli('XLEN', log)) === '1');
  await changeRoles(primary, replica, sentinel.client);
  const second = requestOf({ id: newTag() });
  await until('the store writes to the new primary', () =>
    open.store.append(open.partition, [second]).then(
      () => true,
      () => false,
    ),
  );
  // Sentinel does this as part of a failover: who only reads would not notice it otherwise.
  await primary.cli('CLIENT', 'KILL', 'TYPE', 'normal');
  const entries = await open.store.readLog(open.partition, 10, 1_000);
  expect(entries).toHaveLength(2);
  expect(entries[0]?.id).toBe(first.id);
  const info = await connection.writes.send(0, (node) => node.info('server'));
  expect(info).toContain(`tcp_port:${replica.port}`);
});
