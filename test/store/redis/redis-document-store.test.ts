import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutcomeUnknownError, StoreUnavailableError } from '../../../src/lib/store-errors.ts';
import { connectRedis, type RedisConnection } from '../../../src/store/redis/connection.ts';
import { documentKeys } from '../../../src/store/redis/keys.ts';
import { RedisDocumentStore } from '../../../src/store/redis/redis-document-store.ts';
import { newTag } from '../../contract/harness.ts';
import { describeRegistryStore } from '../../contract/document-store.contract.ts';
import { RegistrySetup, valuesOf } from '../../support/registry-setup.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';

let server: RedisServer;
let connection: RedisConnection;
let openedCount = 0;

beforeAll(async () => {
  server = await startRedis();
  connection = await connectRedis(server.url);
});

afterAll(async () => {
  connection?.close();
  await server?.stop();
});

function freshKeys() {
  openedCount += 1;
  return documentKeys('registry', `registry${openedCount}`);
}

describeRegistryStore({ open: async () => new RedisDocumentStore(connection, freshKeys(), null) });

const put = { name: 'a', expectedTag: null, tag: newTag(), text: '{}' };

test.each(['revision', 'tags', 'documents'] as const)(
  'a %s that holds something else fails before anything is written',
  async (which) => {
    const keys = freshKeys();
    const store = new RedisDocumentStore(connection, keys, null);
    await server.cli('LPUSH', keys[which], 'x');
    await expect(store.putDocuments([put], 10)).rejects.toThrow(StoreUnavailableError);
    const others = [keys.revision, keys.tags, keys.documents].filter((key) => key !== keys[which]);
    expect((await server.cli('EXISTS', ...others)).trim()).toBe('0');
  },
);

test('a put that too few replicas have is of unknown outcome, and may be repeated', async () => {
  const keys = freshKeys();
  const store = new RedisDocumentStore(connection, keys, { replicas: 1, timeoutMs: 50 });
  await expect(store.putDocuments([put], 10)).rejects.toThrow(OutcomeUnknownError);
  expect((await server.cli('EXISTS', keys.fence)).trim()).toBe('1');
  const known = new RedisDocumentStore(connection, keys, null);
  expect(await known.putDocuments([put], 10)).toEqual(['applied']);
  expect(await known.readDocuments(['a'])).toEqual([{ tag: put.tag, text: put.text }]);
});

test('two processes that race for the last places of a dimension give each once', async () => {
  const keys = freshKeys();
  const setup = new RegistrySetup();
  const other = await connectRedis(server.url);
  try {
    const processes = [connection, other].map((its) =>
      setup.start(new RedisDocumentStore(its, keys, null)),
    );
    await processes[0]!.changeSettings('s', { dimensions: [{ name: 'd', maxValues: 10 }] });
    await Promise.all(processes.map((registry) => registry.of('s')));
    const admissions = Array.from({ length: 40 }, async (_, index) => {
      const registry = processes[index % 2]!;
      await registry.admit(new Map([['s', valuesOf('d', `v${index}`)]]));
      return registry.known('s').dimensions[0]!.shares.has(`v${index}`);
    });
    const given = (await Promise.all(admissions)).filter(Boolean);
    expect(given).toHaveLength(10);
    const profile = await setup.start(new RedisDocumentStore(other, keys, null)).of('s');
    expect(profile.valuesOf('d')).toHaveLength(11);
  } finally {
    other.close();
  }
});
