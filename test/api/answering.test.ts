import type { Response } from 'express';
import { describe, expect, test } from 'vitest';
import { AnswerCache } from '../../src/api/answer-cache.ts';
import { sendAnswer } from '../../src/api/answering.ts';
import { Prng } from '../../src/lib/prng.ts';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { REGISTRY_FRESH_MS } from '../../src/streams/limits.ts';
import { RegistrySetup, WatchedRegistryStore } from '../support/registry-setup.ts';

/** A process that answers every question by the number of its reads, and one beside it. */
function twoProcesses() {
  const setup = new RegistrySetup();
  const store = new WatchedRegistryStore(setup.memory);
  const [registry, other] = [setup.start(store), setup.start()];
  const { clock } = setup;
  const cache = new AnswerCache({
    clock,
    prng: new Prng(1),
    maxBytes: 1_000_000,
    maxStaleMs: 60_000,
    onResult: () => {},
  });
  let reads = 0;
  const ask = async (question: { stream: string; explain?: boolean }): Promise<string> => {
    const sent: string[] = [];
    const response = {
      setHeader: () => {},
      end: (body: Buffer) => sent.push(String(body)),
    } as unknown as Response;
    const asked = { kind: 'top', streams: [question.stream], question };
    await sendAnswer(response, { cache, registry }, asked, async () => {
      reads += 1;
      return { read: reads };
    });
    return sent.join();
  };
  return { clock, store, registry, other, ask };
}

describe('an answer', () => {
  test('is made once for the same question, and again for another', async () => {
    const { ask } = twoProcesses();
    expect(await ask({ stream: 'a' })).toBe('{"read":1}');
    expect(await ask({ stream: 'a' })).toBe('{"read":1}');
    expect(await ask({ stream: 'b' })).toBe('{"read":2}');
  });

  test('with an explanation is always made anew', async () => {
    const { ask } = twoProcesses();
    expect(await ask({ stream: 'a', explain: true })).toBe('{"read":1}');
    expect(await ask({ stream: 'a', explain: true })).toBe('{"read":2}');
  });

  test('is another one once its own process has changed what the stream shows', async () => {
    const { ask, registry } = twoProcesses();
    await ask({ stream: 'a' });
    await registry.changeModeration('a', [{ action: 'block', item: 'x' }], { by: 'm' });
    expect(await ask({ stream: 'a' })).toBe('{"read":2}');
    await registry.changeSettings('a', { mode: 'review' });
    expect(await ask({ stream: 'a' })).toBe('{"read":3}');
    await registry.changeModeration('b', [{ action: 'block', item: 'x' }], { by: 'm' });
    expect(await ask({ stream: 'a' })).toBe('{"read":3}');
  });

  test('is another one half a second after another process has changed it', async () => {
    const { ask, clock, other } = twoProcesses();
    await ask({ stream: 'a' });
    await other.changeModeration('a', [{ action: 'block', item: 'x' }], { by: 'm' });
    await clock.advance(REGISTRY_FRESH_MS);
    expect(await ask({ stream: 'a' })).toBe('{"read":2}');
  });

  test('is made of what was known last while the settings cannot be read', async () => {
    const { ask, clock, store } = twoProcesses();
    await ask({ stream: 'a' });
    store.around = () => Promise.reject(new StoreUnavailableError());
    await clock.advance(REGISTRY_FRESH_MS);
    expect(await ask({ stream: 'a' })).toBe('{"read":1}');
  });
});
