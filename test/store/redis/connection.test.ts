import { readShareIndex } from '../../../src/streams/share-index.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import {
  connectForBull,
  connectRedis,
  type ConnectionOptions,
  type RedisConnection,
} from '../../../src/store/redis/connection.ts';
import { RedisRefusedError } from '../../../src/store/redis/redis-refused-error.ts';
import { PartitionKeys } from '../../../src/store/redis/keys.ts';
import {
  appendEntry,
  currentMinute,
  foldInto,
  newTag,
  openPartTags,
  partOf,
  requestOf,
  shareFoldOf,
} from '../../contract/harness.ts';
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.ts';
import { type RedisOptions, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { openOn } from './redis-harness.ts';

/** Short, so that the tests of what is refused in the end do not take long. */
const HASTY: ConnectionOptions = { retryForMs: 400, silenceTimeoutMs: 200 };

const toClose: { close(): unknown }[] = [];

afterEach(async () => {
  for (const resource of toClose.splice(0).toReversed()) {
    await resource.close();
  }
});

async function start(options?: RedisOptions): Promise<RedisServer> {
  const server = await startRedis(options);
  toClose.push({ close: () => server.stop() });
  return server;
}

async function connect(url: string, options?: ConnectionOptions): Promise<RedisConnection> {
  const connection = await connectRedis(url, options);
  toClose.push(connection);
  return connection;
}

async function proxyTo(server: RedisServer): Promise<FaultProxy> {
  const proxy = await startFaultProxy(server.port);
  toClose.push(proxy);
  return proxy;
}

describe('at the start', () => {
  test('a Redis that may evict is refused with the setting named', async () => {
    const server = await start({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const connecting = connectRedis(server.url);
    await expect(connecting).rejects.toThrow(RedisRefusedError);
    await expect(connecting).rejects.toThrow(/maxmemory-policy/);
  });

  test('a Redis that is not there, or is no cluster, is reported by its address', async () => {
    const server = await start();
    await expect(connectRedis('redis://127.0.0.1:1', HASTY)).rejects.toThrow(
      /cannot reach Redis at 127\.0\.0\.1:1: .*ECONNREFUSED/,
    );
    await expect(connectRedis(`redis+cluster://127.0.0.1:${server.port}`, HASTY)).rejects.toThrow(
      StoreUnavailableError,
    );
  });

  test('user and password are used, and a wrong one is reported', async () => {
    const server = await start();
    const host = `127.0.0.1:${server.port}`;
    await server.cli('ACL', 'SETUSER', 'tally', 'on', '>p@ss', '~*', '&*', '+@all');
    await server.cli('ACL', 'SETUSER', 'default', 'off');
    const connection = await connect(`redis://tally:p%40ss@${host}`);
    await appendEntry(openOn(connection));
    await expect(connectRedis(`redis://tally:wrong@${host}`, HASTY)).rejects.toThrow(/WRONGPASS/);
  });

  test('a connection for BullMQ is of its own and reaches the same Redis', async () => {
    const server = await start();
    const client = connectForBull(server.url);
    toClose.push({ close: () => client.disconnect() });
    expect(client.options).toMatchObject({ maxRetriesPerRequest: null });
    await client.set('key', 'value');
    expect(await server.cli('GET', 'key')).toBe('value');
  });
});

describe('when a reply is lost', () => {
  test('the append is sent again and applied once', async () => {
    const server = await start();
    const proxy = await proxyTo(server);
    const open = openOn(await connect(`redis://127.0.0.1:${proxy.port}`));
    for (let round = 0; round < 3; round++) {
      // The id is in the request: only the append's own reply is lost.
      const request = requestOf({ id: newTag() });
      proxy.loseReplyTo(request.id);
      expect(await open.store.append(open.partition, [request])).toEqual([{ kind: 'applied' }]);
    }
    expect(proxy.lostReplies).toBe(3);
    expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(3);
  });

  test('again and again, the outcome is unknown; the same attempt finds it applied', async () => {
    const server = await start();
    const proxy = await proxyTo(server);
    const open = openOn(await connect(`redis://127.0.0.1:${proxy.port}`, HASTY));
    const request = requestOf({ id: newTag() });
    proxy.loseReplyTo(request.id, 1_000);
    const append = open.store.append(open.partition, [request]);
    await expect(append).rejects.toThrow(OutcomeUnknownError);
    proxy.loseReplyTo(request.id, 0);
    expect(await open.store.append(open.partition, [request])).toEqual([{ kind: 'applied' }]);
    const other = { ...request, attempt: newTag() };
    const outcomes = await open.store.append(open.partition, [other]);
    expect(outcomes).toEqual([{ kind: 'duplicate', answer: '' }]);
    expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(1);
  });

  test('a fold is refused the second time, and nothing is counted twice', async () => {
    const server = await start();
    const proxy = await proxyTo(server);
    const open = openOn(await connect(`redis://127.0.0.1:${proxy.port}`));
    await foldInto(open, { share: 'a' });
    const { id, tag } = await appendEntry(open);
    const parts = [partOf({ bucket: await currentMinute(open) })];
    const shares = [await shareFoldOf(open, { share: 'a', parts })];
    const commit = { entries: [{ id, tag }], shares, aside: [] };
    proxy.loseReplyTo(tag);
    expect(await open.store.commitFold(open.partition, commit)).toBe('conflict');
    expect(await openPartTags(open, 'a')).toHaveLength(1);
    expect(await open.store.readLog(open.partition, 10, 1_000)).toEqual([]);
  });

  test('connections that the server cuts do not show', async () => {
    const server = await start();
    const open = openOn(await connect(server.url));
    const appends: Promise<unknown>[] = [];
    for (let round = 0; round < 10; round++) {
      appends.push(open.store.append(open.partition, [requestOf({ id: newTag() })]));
      await server.cli('CLIENT', 'KILL', 'TYPE', 'normal');
    }
    await Promise.all(appends);
    expect(await open.store.readLog(open.partition, 100, 10_000)).toHaveLength(10);
  });
});

describe('while Redis is away', () => {
  test('calls are refused after a while instead of waiting or queueing', async () => {
    const server = await start();
    const open = openOn(await connect(server.url, HASTY));
    await server.kill();
    const calls = Array.from({ length: 200 }, () => [
      open.store.append(open.partition, [requestOf({ id: newTag() })]),
      readShareIndex(open.store, open.partition, 'a', []),
    ]).flat();
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    }
    await server.restart();
    await until('the store works again', () =>
      appendEntry(open).then(
        () => true,
        () => false,
      ),
    );
    // Nothing that was refused arrives later.
    expect(await open.store.readLog(open.partition, 1_000, 1e6)).toHaveLength(1);
  });

  test('a short absence is waited out', async () => {
    const server = await start({ appendfsync: 'always' });
    const open = openOn(await connect(server.url, { retryForMs: 20_000 }));
    await appendEntry(open);
    const restart = server.restart();
    const outcomes = await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
    await restart;
    expect(outcomes).toEqual([{ kind: 'applied' }]);
    expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(2);
  });

  test('a frozen Redis leaves the outcome of an append unknown, and reads are refused', async () => {
    const server = await start();
    const open = openOn(await connect(server.url, HASTY));
    const request = requestOf({ id: newTag() });
    await server.kill('SIGSTOP');
    const [append, read] = await Promise.allSettled([
      open.store.append(open.partition, [request]),
      open.store.readStats(open.partition),
    ]);
    expect(append).toMatchObject({ reason: expect.any(OutcomeUnknownError) });
    expect(read).toMatchObject({ reason: expect.any(StoreUnavailableError) });
    await server.kill('SIGCONT');
    await until('the store works again', () =>
      open.store.append(open.partition, [request]).then(
        ([outcome]) => outcome?.kind === 'applied',
        () => false,
      ),
    );
    expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(1);
  });

  test('a closed connection refuses at once, also what waits', async () => {
    const server = await start();
    const connection = await connect(server.url, { retryForMs: 1e9 });
    const open = openOn(connection);
    await server.kill();
    const waiting = open.store.readStats(open.partition);
    connection.close();
    await expect(waiting).rejects.toThrow(StoreUnavailableError);
    await expect(open.store.readStats(open.partition)).rejects.toThrow(StoreUnavailableError);
  });
});

describe('with replicas to wait for', () => {
  const ack = { replicas: 1, timeoutMs: 100 };

  async function startPair(): Promise<{ primary: RedisServer; replica: RedisServer }> {
    const primary = await start({ args: ['--repl-diskless-sync-delay', '0'] });
    const replica = await start({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    await until('the replica is in step', async () =>
      (await replica.cli('INFO', 'replication')).includes('master_link_status:up'),
    );
    return { primary, replica };
  }

  test('what is acknowledged is on the replica', async () => {
    const { primary, replica } = await startPair();
    const open = openOn(await connect(primary.url, { ackTimeoutMs: 5_000 }), {
      ack: { replicas: 1, timeoutMs: 5_000 },
    });
    for (let count = 1; count <= 20; count++) {
      await open.store.append(open.partition, [requestOf({ id: newTag() })]);
      expect(await replica.cli('XLEN', new PartitionKeys(open.tag).log)).toBe(`${count}`);
    }
  });

  test('a duplicate writes the fence key, so that its acknowledgement waits like any other', async () => {
    const { primary, replica } = await startPair();
    const { fence } = new PartitionKeys('p0');
    const open = openOn(await connect(primary.url, { ackTimeoutMs: 5_000 }), {
      ack: { replicas: 1, timeoutMs: 5_000 },
      partitionTags: ['p0'],
    });
    for (const kind of ['applied', 'duplicate']) {
      await primary.cli('DEL', fence);
      const outcomes = await open.store.append(0, [requestOf({ id: 'a1' })]);
      expect(outcomes[0]?.kind).toBe(kind);
      expect(await replica.cli('EXISTS', fence)).toBe('1');
    }
  });

  test('without the replica the outcome is unknown, of the append and of its duplicates', async () => {
    const { primary, replica } = await startPair();
    const options = { ackTimeoutMs: ack.timeoutMs };
    const open = openOn(await connect(primary.url, options), { ack });
    const request = requestOf({ id: newTag(), answer: 'x' });
    const retry = { ...request, attempt: newTag() };
    const append = (): Promise<unknown> => open.store.append(open.partition, [request]);
    const appendAgain = (): Promise<unknown> => open.store.append(open.partition, [retry]);
    await replica.kill('SIGSTOP');
    await expect(append()).rejects.toThrow(/0 of 1 replicas/);
    await expect(append()).rejects.toThrow(OutcomeUnknownError);
    // On a connection that has written nothing yet, WAIT alone would answer at once.
    const fresh = openOn(await connect(primary.url, options), {
      ack,
      partitionTags: [open.tag],
    });
    await expect(fresh.store.append(0, [retry])).rejects.toThrow(OutcomeUnknownError);
    // The script is sent a second time then, and WAIT must come after that.
    await primary.cli('SCRIPT', 'FLUSH');
    await expect(appendAgain()).rejects.toThrow(OutcomeUnknownError);
    const commit = { entries: [], shares: [], aside: [] };
    const folding = open.store.commitFold(open.partition, commit);
    await expect(folding).rejects.toThrow(StoreUnavailableError);
    // Reads do not wait for replicas, nor behind those who do.
    expect(await open.store.readStats(open.partition)).toMatchObject({ waitingEntries: 1 });
    await replica.kill('SIGCONT');
    await until('the replica is in step', async () => {
      const info = await primary.cli('INFO', 'replication');
      const [, primaryOffset] = /master_repl_offset:(\d+)/.exec(info) ?? [];
      return info.includes(`offset=${primaryOffset},`);
    });
    expect(await append()).toEqual([{ kind: 'applied' }]);
    expect(await appendAgain()).toEqual([{ kind: 'duplicate', answer: 'x' }]);
    expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(1);
  });
});
