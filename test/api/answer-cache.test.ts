import { describe, expect, test } from 'vitest';
import { AnswerCache, type CacheResult, USABLE_MS } from '../../src/api/answer-cache.ts';
import { ManualClock } from '../../src/lib/clock.ts';
import { Prng } from '../../src/lib/prng.ts';
import { StoreUnavailableError } from '../../src/lib/store-errors.ts';
import { gate } from '../support/tally.ts';

const MAX_STALE_MS = 60_000;
const query = { streams: ['s'], key: 'q' };

interface Bench {
  readonly clock: ManualClock;
  readonly cache: AnswerCache;
  readonly results: CacheResult[];
  /** How often was read; every read answers with its number. */
  reads: number;
  readonly read: () => Promise<object>;
  readonly get: () => Promise<string>;
}

function bench({ maxBytes = 1_000_000 } = {}): Bench {
  const clock = new ManualClock(1_000_000);
  const results: CacheResult[] = [];
  const cache = new AnswerCache({
    clock,
    prng: new Prng(1),
    maxBytes,
    maxStaleMs: MAX_STALE_MS,
    onResult: (result) => results.push(result),
  });
  const made: Bench = {
    clock,
    cache,
    results,
    reads: 0,
    read: async () => {
      made.reads += 1;
      return { read: made.reads };
    },
    get: async () => String(await cache.get(query, made.read)),
  };
  return made;
}

const gone = (): Promise<object> => Promise.reject(new StoreUnavailableError());

describe('AnswerCache', () => {
  test('reads once while the answer is fresh', async () => {
    const { cache, clock, get, results, read } = bench();
    await get();
    await clock.advance(400);
    expect(await get()).toBe('{"read":1}');
    expect(String(await cache.get({ streams: ['s'], key: 'other' }, read))).toBe('{"read":2}');
    expect(results).toEqual(['miss', 'hit', 'miss']);
  });

  test('serves an ageing answer while one refresh runs, and never one that is too old', async () => {
    const { clock, get } = bench();
    await get();
    await clock.advance(USABLE_MS);
    expect(await Promise.all([get(), get(), get()])).toEqual(Array(3).fill('{"read":1}'));
    await clock.advance(0);
    expect(await get()).toBe('{"read":2}');
    await clock.advance(USABLE_MS + 1);
    expect(await get()).toBe('{"read":3}');
  });

  test('answers do not all expire together', async () => {
    const { cache, clock, read } = bench();
    const get = async (key: number) =>
      String(await cache.get({ streams: ['s'], key: `${key}` }, read));
    for (let key = 0; key < 50; key += 1) await get(key);
    const ages = new Set<number>();
    for (let ageMs = 0; ageMs <= 700; ageMs += 20) {
      for (let key = 0; key < 50; key += 1) {
        const before = await get(key);
        await clock.advance(0);
        if ((await get(key)) !== before) ages.add(ageMs);
      }
      await clock.advance(20);
    }
    expect(Math.min(...ages)).toBeGreaterThanOrEqual(500);
    expect(ages.size).toBeGreaterThan(5);
  });

  test('counts the age from before the read, so a slow read does not look fresh', async () => {
    const { cache, clock, get } = bench();
    const { opened, open } = gate();
    const slow = cache.get(query, async () => {
      await opened;
      return { slow: true };
    });
    await clock.advance(USABLE_MS + 1);
    open();
    expect(String(await slow)).toBe('{"slow":true}');
    expect(await get()).toBe('{"read":1}');
  });

  test('a failed read is not kept: the next one may succeed', async () => {
    const { cache, get } = bench();
    await expect(cache.get(query, gone)).rejects.toThrow(StoreUnavailableError);
    expect(await get()).toBe('{"read":1}');
  });

  test('serves the last answer, marked stale, without waiting for each attempt', async () => {
    const { cache, clock, get, results } = bench();
    await get();
    await clock.advance(USABLE_MS + 1);
    expect(String(await cache.get(query, gone))).toBe('{"read":1,"stale":true}');
    const { opened, open } = gate();
    const hanging = (): Promise<object> => opened.then(gone);
    expect(String(await cache.get(query, hanging))).toBe('{"read":1,"stale":true}');
    open();
    await clock.advance(0);
    expect(results).toEqual(['miss', 'stale', 'stale']);
    expect(await get()).toBe('{"read":1,"stale":true}');
    await clock.advance(0);
    expect(await get()).toBe('{"read":2}');
  });

  test('a stale answer has an age at which it ends', async () => {
    const { cache, clock, get } = bench();
    await get();
    await clock.advance(MAX_STALE_MS);
    expect(String(await cache.get(query, gone))).toBe('{"read":1,"stale":true}');
    await clock.advance(1);
    await expect(cache.get(query, gone)).rejects.toThrow(StoreUnavailableError);
  });

  test('other errors are never covered by an old answer', async () => {
    const { cache, clock, get } = bench();
    await get();
    await clock.advance(USABLE_MS + 1);
    const broken = (): Promise<object> => Promise.reject(new TypeError('a bug'));
    await expect(cache.get(query, broken)).rejects.toThrow('a bug');
  });

  test('a dropped stream is read anew, and a read from before is not kept', async () => {
    const { cache, clock, get, read } = bench();
    const { opened, open } = gate();
    await cache.get({ streams: ['other'], key: 'o' }, read);
    const before = cache.get(query, async () => {
      await opened;
      return { old: true };
    });
    cache.drop('s');
    expect(await get()).toBe('{"read":2}');
    open();
    await before;
    await clock.advance(0);
    expect(await get()).toBe('{"read":2}');
    cache.drop('s');
    expect(await get()).toBe('{"read":3}');
    expect(String(await cache.get({ streams: ['other'], key: 'o' }, read))).toBe('{"read":1}');
  });

  test('keeps no more bytes than allowed', async () => {
    const { cache } = bench({ maxBytes: 10_000 });
    for (let key = 0; key < 100; key += 1) {
      await cache.get({ streams: ['s'], key: `${key}` }, async () => ({ text: 'x'.repeat(500) }));
    }
    expect(cache.bytes).toBeGreaterThan(5_000);
    expect(cache.bytes).toBeLessThanOrEqual(10_000);
  });

  test('a clock that is set back does not keep an answer for ever', async () => {
    const { clock, get } = bench();
    await get();
    clock.jumpTo(0);
    expect(await get()).toBe('{"read":2}');
  });
});
