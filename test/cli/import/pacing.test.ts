import { expect, test } from 'vitest';
import { Pacer } from '../../../src/cli/import/pacer.ts';
import { TaskPool } from '../../../src/cli/import/task-pool.ts';
import { ManualClock } from '../../../src/lib/clock.ts';

const never = new AbortController().signal;

test('the pacer lets so many events a second pass', async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(100, clock);
  const passedAtMs: number[] = [];
  const work = (async () => {
    for (let count = 0; count < 4; count += 1) {
      await pacer.take(50, never);
      passedAtMs.push(clock.nowMs());
    }
  })();
  await clock.advance(10_000);
  await work;
  expect(passedAtMs).toEqual([0, 500, 1_000, 1_500]);
});

test('the pacer does not make up for time in which nothing was sent', async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(10, clock);
  await clock.advance(60_000);
  await pacer.take(10, never);
  let hasPassed = false;
  const second = pacer.take(10, never).then(() => {
    hasPassed = true;
  });
  await clock.advance(999);
  expect(hasPassed).toBe(false);
  await clock.advance(1);
  await second;
});

test('the pool runs no more tasks at once than it may', async () => {
  const pool = new TaskPool(2);
  const ends: (() => void)[] = [];
  const task = (): Promise<void> =>
    new Promise((resolve) => {
      ends.push(resolve);
    });
  await pool.start(task);
  await pool.start(task);
  const third = pool.start(task);
  await new Promise((resolve) => setImmediate(resolve));
  expect(ends).toHaveLength(2);
  ends[0]?.();
  await third;
  expect(ends).toHaveLength(3);
  for (const end of ends) end();
  await pool.drain();
});

test('a failure of a task is told to the next start, and to the drain', async () => {
  const pool = new TaskPool(1);
  await pool.start(() => Promise.reject(new Error('refused')));
  let hasStarted = false;
  const next = pool.start(async () => {
    hasStarted = true;
  });
  await expect(next).rejects.toThrow('refused');
  await expect(pool.drain()).rejects.toThrow('refused');
  expect(hasStarted).toBe(false);
});
