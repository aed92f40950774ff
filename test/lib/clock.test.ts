import { expect, test } from 'vitest';
import { ManualClock, systemClock } from '../../src/lib/clock.ts';

test('a manual clock stands still until it is advanced', async () => {
  const clock = new ManualClock(1_000);
  expect(clock.nowMs()).toBe(1_000);
  await clock.advance(500);
  expect(clock.nowMs()).toBe(1_500);
});

test('sleepers wake in the order of their wake times, equal ones in the order of sleeping', async () => {
  const clock = new ManualClock(0);
  const woken: string[] = [];
  const sleep = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    woken.push(`${name}@${clock.nowMs()}`);
  };
  const all = [sleep('c', 300), sleep('a', 100), sleep('b1', 200), sleep('b2', 200)];
  await clock.advance(250);
  expect(woken).toEqual(['a@100', 'b1@200', 'b2@200']);
  expect(clock.sleeperCount).toBe(1);
  await clock.advance(50);
  await Promise.all(all);
  expect(woken.at(-1)).toBe('c@300');
});

test('a loop that sleeps runs once for each of its periods in one advance', async () => {
  const clock = new ManualClock(0);
  const stop = new AbortController();
  const ticks: number[] = [];
  const loop = (async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(100, stop.signal);
      ticks.push(clock.nowMs());
    }
  })();
  await clock.advance(350);
  stop.abort();
  await loop;
  expect(ticks).toEqual([100, 200, 300, 350]);
  expect(clock.sleeperCount).toBe(0);
});

test('setting the wall clock wakes nobody and does not change how long a sleep is', async () => {
  const clock = new ManualClock(10_000);
  let wokenAtMs: number | undefined;
  const sleeping = clock.sleep(100).then(() => {
    wokenAtMs = clock.nowMs();
  });
  clock.jumpTo(5_000);
  await clock.advance(99);
  expect(wokenAtMs).toBeUndefined();
  await clock.advance(1);
  await sleeping;
  expect(wokenAtMs).toBe(5_100);
});

test('time cannot be advanced backwards', async () => {
  await expect(new ManualClock(0).advance(-1)).rejects.toThrow(/backwards/);
});

test.each([
  ['manual', new ManualClock(0)],
  ['system', systemClock],
])('an abort ends a sleep of the %s clock at once, before or after it began', async (_, clock) => {
  const stop = new AbortController();
  const sleeping = clock.sleep(60_000, stop.signal);
  stop.abort();
  await sleeping;
  await clock.sleep(60_000, stop.signal);
});
