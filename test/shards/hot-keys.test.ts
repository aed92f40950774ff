import { describe, expect, it, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { HotKeys } from '../../src/shards/hot-keys.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { ZipfSampler } from '../support/zipf.ts';

const hash = new KeyedHash({ k0: 3, k1: 5 });

function hotKeys(ratePerSecondMin: number): HotKeys {
  return new HotKeys({ hash, nowMs: 1_000_000, ratePerSecondMin });
}

describe('HotKeys', () => {
  it('answers rates over the interval, hottest first and equal ones by name', () => {
    const keys = hotKeys(1);
    for (let write = 0; write < 20; write += 1) keys.record('é', 1);
    keys.record('z', 20);
    keys.record('a', 30);
    expect(keys.take(1_002_000)).toEqual([
      { key: 'a', ratePerSecond: 15 },
      { key: 'z', ratePerSecond: 10 },
      { key: 'é', ratePerSecond: 10 },
    ]);
  });

  it('leaves out what is below the minimum', () => {
    const keys = hotKeys(5);
    keys.record('at', 10);
    keys.record('below', 9);
    expect(keys.take(1_002_000)).toEqual([{ key: 'at', ratePerSecond: 5 }]);
  });

  it('starts each interval empty, where the last one ended', () => {
    const keys = hotKeys(1);
    keys.record('first', 100);
    keys.take(1_010_000);
    keys.record('second', 100);
    expect(keys.take(1_020_000)).toEqual([{ key: 'second', ratePerSecond: 10 }]);
    expect(keys.take(1_030_000)).toEqual([]);
  });

  it('takes an interval of less than a second for a whole one', () => {
    const keys = hotKeys(1);
    keys.record('a', 10);
    expect(keys.take(1_000_001)).toEqual([{ key: 'a', ratePerSecond: 10 }]);
    keys.record('a', 10);
    expect(keys.take(1_000_001)).toEqual([{ key: 'a', ratePerSecond: 10 }]);
  });

  it('has no rates for an interval in which the clock was set back, and goes on after it', () => {
    const keys = hotKeys(1);
    keys.record('a', 1_000);
    expect(keys.take(999_999)).toEqual([]);
    keys.record('b', 4);
    expect(keys.take(1_001_999)).toEqual([{ key: 'b', ratePerSecond: 2 }]);
  });

  test.each([0, -1, 0.5, Number.NaN, 2 ** 53])('refuses a weight of %d', (weight) => {
    expect(() => hotKeys(1).record('a', weight)).toThrow('positive integer');
  });

  it('refuses a minimum that calls everything hot', () => {
    expect(() => hotKeys(0)).toThrow('not hot');
  });
});

describe('HotKeys, among 200,000 keys', () => {
  it('answers lower bounds, and misses less than one in 1,024 of all writes of any key', () => {
    const prng = new Prng(7);
    const zipf = new ZipfSampler(200_000, 1.05);
    const truth = new Map<string, number>();
    const keys = hotKeys(1);
    for (let write = 0; write < 300_000; write += 1) {
      const key = `key-${zipf.next(prng)}`;
      truth.set(key, (truth.get(key) ?? 0) + 1);
      keys.record(key, 1);
    }
    const rates = keys.take(1_001_000);
    const answered = new Map(rates.map(({ key, ratePerSecond }) => [key, ratePerSecond]));
    expect(answered.size).toBeGreaterThan(500);
    const wrong = [...truth].filter(([key, count]) => {
      const lower = answered.get(key) ?? 0;
      return lower > count || count - lower > 300_000 / 1_024;
    });
    expect(wrong).toEqual([]);
  });

  it('calls nothing hot where every key is written once, however full the cells are', () => {
    const keys = hotKeys(2);
    for (let write = 0; write < 200_000; write += 1) keys.record(`key-${write}`, 1);
    expect(keys.take(1_001_000)).toEqual([]);
  });

  it('finds a key that becomes hot when all places are taken', () => {
    const keys = hotKeys(100);
    for (let write = 0; write < 100_000; write += 1) {
      keys.record(`key-${write}`, 1);
      if (write >= 50_000 && write % 50 === 0) keys.record('late', 1);
    }
    const [late, ...others] = keys.take(1_001_000);
    expect(late?.key).toBe('late');
    expect(late?.ratePerSecond).toBeGreaterThan(900);
    expect(late?.ratePerSecond).toBeLessThanOrEqual(1_000);
    expect(others).toEqual([]);
  });
});
