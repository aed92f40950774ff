import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { connectRedis, type RedisConnection } from '../../src/store/redis/connection.ts';
import { claimDeployment } from '../../src/store/redis/deployment.ts';
import { slotOfHashTag } from '../../src/store/redis/hash-slot.ts';
import { deploymentKeys, documentKeys } from '../../src/store/redis/keys.ts';
import { RedisDocumentStore } from '../../src/store/redis/redis-document-store.ts';
import { RedisRefusedError } from '../../src/store/redis/redis-refused-error.ts';
import { newTag, requestOf } from '../contract/harness.ts';
import { describeRegistryStore } from '../contract/document-store.contract.ts';
import { describeStreamStore } from '../contract/stream-store.contract.ts';
import { openOn } from '../store/redis/redis-harness.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

describe('three primaries', () => {
  let cluster: RedisCluster;
  let connection: RedisConnection;
  let partitionTags: readonly string[];

  beforeAll(async () => {
    cluster = await startCluster({ primaries: 3 });
    connection = await connectRedis(cluster.url);
    ({ partitionTags } = await claimDeployment(connection, { partitions: null, hashSecret: null }));
  });

  afterAll(async () => {
    connection?.close();
    await cluster?.stop();
  });

  test('each gets a partition, and the tags of other processes are the same', async () => {
    const owners = await Promise.all(partitionTags.map((tag) => cluster.primaryOf(tag)));
    expect(owners.map(({ port }) => port)).toEqual(cluster.nodes.map(({ port }) => port));
    const other = await connectRedis(cluster.url);
    const claim = await claimDeployment(other, { partitions: null, hashSecret: null });
    expect(claim.partitionTags).toEqual(partitionTags);
    other.close();
  });

  test('more partitions than primaries go round them', async () => {
    const { deployment } = deploymentKeys;
    await (await cluster.primaryOf('tally')).cli('DEL', deployment);
    const claim = await claimDeployment(connection, { partitions: 7, hashSecret: null });
    const owners = await Promise.all(claim.partitionTags.map((tag) => cluster.primaryOf(tag)));
    const places = owners.map((owner) => cluster.nodes.indexOf(owner));
    expect(places).toEqual([0, 1, 2, 0, 1, 2, 0]);
  });

  describeStreamStore({ open: async (limits) => openOn(connection, limits) });

  let registryCount = 0;
  describeRegistryStore({
    open: async () => {
      registryCount += 1;
      return new RedisDocumentStore(
        connection,
        documentKeys('registry', `registry${registryCount}`),
        null,
      );
    },
  });

  test('a slot that is moved during writes loses nothing and doubles nothing', async () => {
    const open = openOn(connection);
    const slot = slotOfHashTag(open.tag);
    const from = await cluster.primaryOf(open.tag);
    const to = cluster.nodes.find((node) => node !== from) as RedisServer;
    const sent: string[] = [];
    let isMoving = true;
    const write = async (): Promise<void> => {
      while (isMoving) {
        const request = requestOf({ id: newTag() });
        sent.push(request.id);
        // What is acknowledged here must be there in the end, once.
        const outcomes = await open.store.append(open.partition, [request]);
        expect(outcomes).toEqual([{ kind: 'applied' }]);
      }
    };
    const writers = Promise.all([write(), write(), write()]);
    try {
      await moveSlot(slot, from, to);
      const sentBefore = sent.length;
      await until('writes have followed the slot', () => sent.length > sentBefore + 20);
      await moveSlot(slot, to, from);
    } finally {
      isMoving = false;
      await writers;
    }
    const waiting = await open.store.readStats(open.partition);
    expect(waiting.waitingEntries).toBe(sent.length);
    const retries = sent.slice(0, 50).map((id) => requestOf({ id }));
    const outcomes = await open.store.append(open.partition, retries);
    expect(outcomes.every(({ kind }) => kind === 'duplicate')).toBe(true);
  });

  test('a slot that stays half moved is reported as unavailable, and works again after', async () => {
    const hasty = await connectRedis(cluster.url, { retryForMs: 300 });
    const open = openOn(hasty);
    const slot = String(slotOfHashTag(open.tag));
    const from = await cluster.primaryOf(open.tag);
    const to = cluster.nodes.find((node) => node !== from) as RedisServer;
    await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
    await from.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await to.cli('CLUSTER', 'MYID'));
    const append = open.store.append(open.partition, [requestOf({ id: 'a2' })]);
    await expect(append).rejects.toThrow(StoreUnavailableError);
    await from.cli('CLUSTER', 'SETSLOT', slot, 'STABLE');
    const outcomes = await open.store.append(open.partition, [requestOf({ id: 'a2' })]);
    expect(outcomes).toEqual([{ kind: 'applied' }]);
    hasty.close();
  });

  test('scripts that one node has forgotten are sent to it again', async () => {
    const open = openOn(connection);
    await open.store.append(open.partition, [requestOf({ id: 'a1' })]);
    await Promise.all(cluster.nodes.map((node) => node.cli('SCRIPT', 'FLUSH')));
    const outcomes = await open.store.append(open.partition, [requestOf({ id: 'a2' })]);
    expect(outcomes).toEqual([{ kind: 'applied' }]);
  });

  test('one primary that may evict is enough to be refused', async () => {
    const [, , last] = cluster.nodes;
    await last?.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-random');
    const connecting = connectRedis(cluster.url);
    await expect(connecting).rejects.toThrow(RedisRefusedError);
    await expect(connecting).rejects.toThrow(new RegExp(`${last?.port}.*maxmemory-policy`));
    await last?.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  });

  test('a node of a cluster is not taken for a single Redis', async () => {
    await expect(connectRedis(cluster.nodes[0]?.url ?? '')).rejects.toThrow(/redis\+cluster/);
  });
});

describe('three primaries with a replica each', () => {
  const ack = { replicas: 1, timeoutMs: 400 };
  let cluster: RedisCluster;
  let connection: RedisConnection;

  beforeAll(async () => {
    cluster = await startCluster({ primaries: 3, replicasPerPrimary: 1 });
    connection = await connectRedis(cluster.url, { ackTimeoutMs: ack.timeoutMs });
  });

  afterAll(async () => {
    connection?.close();
    await cluster?.stop();
  });

  test('while the replica sleeps, outcomes are unknown; after that they are known', async () => {
    const open = openOn(connection, { ack });
    const [replica] = await cluster.replicasOf(await cluster.primaryOf(open.tag));
    const request = requestOf({ id: newTag(), answer: 'x' });
    const retry = { ...request, attempt: newTag() };
    await open.store.append(open.partition, [requestOf({ id: newTag() })]);
    await replica?.kill('SIGSTOP');
    for (const attempt of [request, request, retry]) {
      const append = open.store.append(open.partition, [attempt]);
      await expect(append).rejects.toThrow(OutcomeUnknownError);
    }
    await replica?.kill('SIGCONT');
    const patient = openOn(connection, {
      ack: { replicas: 1, timeoutMs: 10_000 },
      partitionTags: [open.tag],
    });
    expect(await patient.store.append(0, [request, retry])).toEqual([
      { kind: 'applied' },
      { kind: 'duplicate', answer: 'x' },
    ]);
    expect(await open.store.readLog(open.partition, 10, 1_000)).toHaveLength(2);
  });

  test('a primary that is killed during writes loses nothing that was acknowledged', async () => {
    const open = openOn(connection, { ack });
    const primary = await cluster.primaryOf(open.tag);
    const acknowledged: string[] = [];
    let areSomeAcknowledged = (): void => {};
    const someAcknowledged = new Promise<void>((resolve) => {
      areSomeAcknowledged = resolve;
    });
    let isDone = false;
    const write = async (): Promise<void> => {
      while (!isDone) {
        const request = requestOf({ id: newTag() });
        try {
          await open.store.append(open.partition, [request]);
          acknowledged.push(request.id);
          areSomeAcknowledged();
        } catch (error) {
          // No acknowledgement: nothing is promised.
          expect(error).toBeInstanceOf(Error);
        }
      }
    };
    const unacked = openOn(connection, { partitionTags: [open.tag] });
    const writeThrough = async (): Promise<void> => {
      while (!isDone) {
        const outcomes = await unacked.store.append(0, [requestOf({ id: newTag() })]);
        expect(outcomes).toEqual([{ kind: 'applied' }]);
      }
    };
    const writers = Promise.all([write(), write(), writeThrough()]);
    try {
      await someAcknowledged;
      const elected = await cluster.killAndFailOver(primary);
      expect(elected.port).not.toBe(primary.port);
    } finally {
      isDone = true;
      await writers;
    }
    for (let start = 0; start < acknowledged.length; start += 500) {
      const retries = acknowledged.slice(start, start + 500).map((id) => requestOf({ id }));
      const outcomes = await unacked.store.append(0, retries);
      expect(outcomes.filter(({ kind }) => kind !== 'duplicate')).toEqual([]);
    }
  });
});

/** Moves a slot with its keys, one key after the other, as `redis-cli --cluster reshard` does. */
async function moveSlot(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  const [fromId, toId] = [await from.cli('CLUSTER', 'MYID'), await to.cli('CLUSTER', 'MYID')];
  await to.cli('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', fromId);
  await from.cli('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', toId);
  for (;;) {
    const key = (await from.cli('CLUSTER', 'GETKEYSINSLOT', String(slot), '1')).trim();
    if (key === '') {
      break;
    }
    await from.cli('MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000');
  }
  await to.cli('CLUSTER', 'SETSLOT', String(slot), 'NODE', toId);
  await from.cli('CLUSTER', 'SETSLOT', String(slot), 'NODE', toId);
}
