import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import {
  BrokenStreamError,
  OutcomeUnknownError,
  StoreUnavailableError,
} from '../../src/lib/store-errors.ts';
import { MemoryDocumentStore } from '../../src/store/memory/memory-document-store.ts';
import { REGISTRY_FRESH_MS, REGISTRY_WAIT_MS } from '../../src/streams/limits.ts';
import type { StreamRegistry } from '../../src/streams/registry.ts';
import {
  admitStream,
  RegistrySetup,
  valuesOf,
  WatchedRegistryStore,
} from '../support/registry-setup.ts';

describe('the copy of a process', () => {
  test('is not looked after while it is fresh, and by one call when nothing changed', async () => {
    const setup = new RegistrySetup();
    const store = new WatchedRegistryStore(setup.memory);
    const registry = setup.start(store);
    await admitStream(registry, 'a');
    store.calls.length = 0;
    await setup.clock.advance(REGISTRY_FRESH_MS - 1);
    expect(registry.refreshed()).toBeNull();
    await setup.clock.advance(1);
    await Promise.all([registry.of('a'), registry.of('b'), registry.of('a')]);
    // The own put changed the revision, and is known by its tag already.
    expect(store.calls).toEqual(['readRevision', 'readTags']);
    await setup.clock.advance(REGISTRY_FRESH_MS);
    store.calls.length = 0;
    await Promise.all([registry.of('a'), registry.of('b')]);
    expect(store.calls).toEqual(['readRevision']);
  });

  test('follows the changes of others within its time, and clocks that are set back', async () => {
    const setup = new RegistrySetup();
    const [one, other] = [setup.start(), setup.start()];
    await one.of('a');
    await other.changeModeration('a', [{ action: 'block', item: 'x' }], { by: 'm' });
    expect((await other.of('a')).isHidden('x')).toBe(true);
    expect((await one.of('a')).isHidden('x')).toBe(false);
    await setup.clock.advance(REGISTRY_FRESH_MS);
    expect((await one.of('a')).isHidden('x')).toBe(true);
    await other.delete('a');
    setup.clock.jumpTo(setup.clock.nowMs() - 1);
    expect((await one.of('a')).isHidden('x')).toBe(false);
  });

  test('follows a store that goes back to an older state', async () => {
    const setup = new RegistrySetup();
    const store = new WatchedRegistryStore(setup.memory);
    const registry = setup.start(store);
    await admitStream(registry, 'a');
    store.inner = new MemoryDocumentStore(setup.tags);
    expect((await registry.of('a')).hasEvents).toBe(true);
    await setup.clock.advance(REGISTRY_FRESH_MS);
    expect((await registry.of('a')).hasEvents).toBe(false);
    expect(await admitStream(registry, 'a')).toBe(true);
    expect((await store.inner.readTags()).size).toBe(1);
  });

  test('goes on to hold while the store is gone; without one the store is waited for', async () => {
    const setup = new RegistrySetup();
    const store = new WatchedRegistryStore(setup.memory);
    const registry = setup.start(store);
    store.around = () => Promise.reject(new StoreUnavailableError('gone'));
    await expect(registry.of('a')).rejects.toThrow(StoreUnavailableError);
    store.around = (_, call) => call();
    await registry.of('a');
    await registry.changeSettings('a', { kMax: 7, candidates: 50 });
    store.around = () => Promise.reject(new StoreUnavailableError('gone'));
    await setup.clock.advance(REGISTRY_FRESH_MS);
    expect((await registry.of('a')).settings.kMax).toBe(7);
    await expect(registry.changeSettings('a', {})).rejects.toThrow(StoreUnavailableError);
    await expect(admitStream(registry, 'new')).rejects.toThrow(StoreUnavailableError);
  });

  test('holds a store that does not answer up once, and is looked after when it is back', async () => {
    const setup = new RegistrySetup();
    const store = new WatchedRegistryStore(setup.memory);
    const registry = setup.start(store);
    await registry.of('a');
    await setup.start().changeSettings('a', { mode: 'review' });
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    store.around = async (_, call) => {
      await answered;
      return call();
    };
    await setup.clock.advance(REGISTRY_FRESH_MS);
    let first: string | null = null;
    const asked = registry.of('a').then(({ settings }) => {
      first = settings.mode;
    });
    await setup.clock.advance(REGISTRY_WAIT_MS - 1);
    expect(first).toBeNull();
    await setup.clock.advance(1);
    await asked;
    expect(first).toBe('open');
    // Nobody waits a second time, and there is one look under way however many ask.
    store.calls.length = 0;
    expect((await registry.of('a')).settings.mode).toBe('open');
    expect(store.calls).toEqual([]);
    answer();
    await setup.clock.advance(0);
    expect((await registry.of('a')).settings.mode).toBe('review');
  });

  test('loses one stream only to a damaged document, until it is deleted', async () => {
    const setup = new RegistrySetup();
    const registry = setup.start();
    await admitStream(registry, 'whole');
    const texts = [
      '{',
      'null',
      '{"version":2}',
      '{"version":1,"hasEvents":true,"settings":{"kMax":"7"}}',
    ];
    for (const [index, text] of texts.entries()) {
      const put = { name: `damaged-${index}`, expectedTag: null, tag: setup.tags(), text };
      await setup.memory.putDocuments([put], 100);
    }
    await setup.clock.advance(REGISTRY_FRESH_MS);
    for (const index of texts.keys()) {
      const stream = `damaged-${index}`;
      await expect(registry.of(stream)).rejects.toThrow(BrokenStreamError);
      await expect(registry.changeSettings(stream, {})).rejects.toThrow(BrokenStreamError);
      expect((await registry.ofUpkeep(stream)).dimensions).toEqual([]);
      expect(await registry.admit(new Map([[stream, new Map()]]))).toEqual(new Set());
    }
    expect((await registry.of('whole')).hasEvents).toBe(true);
    await registry.delete('damaged-0');
    expect((await registry.of('damaged-0')).hasEvents).toBe(false);
  });
});

describe('the number of streams', () => {
  test('has a limit, which events, settings and lists share', async () => {
    const setup = new RegistrySetup(3);
    const registry = setup.start();
    expect(await admitStream(registry, 'a')).toBe(true);
    await registry.changeSettings('b', { kMax: 1 });
    await registry.changeModeration('c', [{ action: 'block', item: 'x' }], { by: 'm' });
    expect(await admitStream(registry, 'd')).toBe(false);
    const refused = { code: 'too_many_streams' };
    await expect(registry.changeSettings('d', { kMax: 1 })).rejects.toMatchObject(refused);
    // Those that are there go on, and a deletion makes room.
    expect(await admitStream(registry, 'b')).toBe(true);
    await registry.changeSettings('a', { kMax: 1 });
    await registry.delete('c');
    expect(await admitStream(registry, 'd')).toBe(true);
  });

  test('is counted right when many streams come at once', async () => {
    const setup = new RegistrySetup(600);
    const registry = setup.start();
    await registry.of('');
    const wanted = Array.from({ length: 700 }, (_, index) => [`s${index}`, new Map()] as const);
    expect((await registry.admit(new Map(wanted))).size).toBe(100);
    expect((await setup.memory.readTags()).size).toBe(600);
  });
});

/** Answers each call after a random number of turns, so that processes overtake each other. */
function jittered(setup: RegistrySetup, prng: Prng): WatchedRegistryStore {
  const store = new WatchedRegistryStore(setup.memory);
  const turns = async (): Promise<void> => {
    for (let left = prng.nextInt(12); left > 0; left -= 1) await Promise.resolve();
  };
  store.around = async (_, call) => {
    await turns();
    const answer = await call();
    await turns();
    return answer;
  };
  return store;
}

describe('processes that race', () => {
  test('give segments to exactly as many values as there may be, and agree on which', async () => {
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1 }), {
        minLength: 4,
      }),
      fc.nat(),
      async (maxValues, batches, seed) => {
        const setup = new RegistrySetup();
        const prng = new Prng(seed);
        const processes = [0, 1, 2].map(() => setup.start(jittered(setup, prng)));
        await processes[0]!.changeSettings('s', { dimensions: [{ name: 'd', maxValues }] });
        const own = new Set<string>();
        const rest = new Set<string>();
        const send = async (registry: StreamRegistry, batch: string[]): Promise<void> => {
          await registry.admit(new Map([['s', valuesOf('d', ...batch)]]));
          const { shares, hasRoom } = registry.known('s').dimensions[0]!;
          for (const value of batch) (shares.has(value) ? own : rest).add(value);
          // Whoever counts an event under the rest knows that there is no room for its value.
          if (batch.some((value) => !shares.has(value))) expect(hasRoom).toBe(false);
        };
        await Promise.all(processes.map((registry) => registry.of('s')));
        await Promise.all(batches.map((batch, index) => send(processes[index % 3]!, batch)));
        const sent = new Set(batches.flat());
        expect(own.size).toBe(Math.min(maxValues, sent.size));
        expect([...rest].filter((value) => own.has(value))).toEqual([]);
        expect(new Set([...own, ...rest])).toEqual(sent);
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });

  test('lose none of their changes', async () => {
    const setup = new RegistrySetup();
    const prng = new Prng(3);
    const processes = [0, 1, 2].map(() => setup.start(jittered(setup, prng)));
    const block = (index: number): Promise<unknown> => {
      const changes = [{ action: 'block' as const, item: `${index}` }];
      return processes[index % 3]!.changeModeration('s', changes, { by: 'm' });
    };
    await Promise.all([
      ...Array.from({ length: 12 }, (_, index) => block(index)),
      processes[0]!.changeSettings('s', { mode: 'review' }),
      processes[1]!.admit(new Map([['s', new Map()]])),
    ]);
    const profile = await setup.start().of('s');
    expect(profile.settings.mode).toBe('review');
    expect(profile.hasEvents).toBe(true);
    expect(profile.moderation.blocked.items).toHaveLength(12);
    expect(profile.moderation.audit).toHaveLength(12);
  });

  test('give up a change that is overtaken again and again', async () => {
    const setup = new RegistrySetup();
    const store = new WatchedRegistryStore(setup.memory);
    const registry = setup.start(store);
    store.around = async (method, call) =>
      method === 'putDocuments' ? (['conflict'] as never) : call();
    await expect(registry.changeSettings('a', {})).rejects.toThrow(StoreUnavailableError);
    await expect(admitStream(registry, 'a')).rejects.toThrow(StoreUnavailableError);
  });
});

describe('a put whose outcome is unknown', () => {
  test('fails a change as that, and an admission as a store that is gone', async () => {
    const setup = new RegistrySetup();
    const store = new WatchedRegistryStore(setup.memory);
    const registry = setup.start(store);
    await registry.of('a');
    store.around = async (method, call) => {
      const answer = await call();
      if (method === 'putDocuments') throw new OutcomeUnknownError('lost');
      return answer;
    };
    await expect(registry.changeSettings('a', { mode: 'review' })).rejects.toThrow(
      OutcomeUnknownError,
    );
    // It was applied, and the copy is looked after at the next question.
    expect((await registry.of('a')).settings.mode).toBe('review');
    await expect(admitStream(registry, 'b')).rejects.toThrow(StoreUnavailableError);
    expect((await registry.of('b')).hasEvents).toBe(true);
    await expect(registry.delete('b')).rejects.toThrow(OutcomeUnknownError);
    await registry.delete('b');
    expect((await registry.of('b')).hasEvents).toBe(false);
  });
});

describe('the deletion of a stream', () => {
  test('forgets its shares first, so that a failed one can be repeated', async () => {
    const setup = new RegistrySetup();
    const registry = setup.start();
    await registry.of('s');
    await registry.changeSettings('s', { dimensions: [{ name: 'd', values: ['x'] }] });
    setup.onDrop = () => Promise.reject(new StoreUnavailableError('gone'));
    await expect(registry.delete('s')).rejects.toThrow(StoreUnavailableError);
    setup.onDrop = async () => {};
    await setup.start().delete('s');
    expect(setup.dropped).toEqual(['s', 's\x1fd\x1fx', 's\x1fd\x1fother']);
    expect((await registry.of('s')).valuesOf('d')).toEqual(['x', 'other']);
    await setup.clock.advance(REGISTRY_FRESH_MS);
    expect((await registry.of('s')).valuesOf('d')).toEqual([]);
  });

  test('forgets also a value that came while it was under way', async () => {
    const setup = new RegistrySetup();
    const [registry, other] = [setup.start(), setup.start()];
    await registry.changeSettings('s', { dimensions: [{ name: 'd' }] });
    await other.of('s');
    setup.onDrop = async () => {
      setup.onDrop = async () => {};
      await other.admit(new Map([['s', valuesOf('d', 'late')]]));
    };
    await registry.delete('s');
    expect(setup.dropped).toContain('s\x1fd\x1flate');
    expect((await setup.memory.readTags()).size).toBe(0);
  });

  test('of one without a document forgets what it may have in the partitions', async () => {
    const setup = new RegistrySetup();
    await setup.start().delete('s');
    expect(setup.dropped).toEqual(['s']);
  });
});
