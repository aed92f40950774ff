import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/lib/clock.ts';
import { connectForBull } from '../../src/store/redis/connection.ts';
import { BullScheduler } from '../../src/workers/bull-scheduler.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { gate } from '../support/tally.ts';
import { until } from '../support/until.ts';

const INTERVAL_MS = 100;
/** The schedule is renewed this often. */
const RENEW_MS = 5_000;

let redis: RedisServer;
let open: BullScheduler[] = [];
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.cli('FLUSHALL'));
afterEach(async () => {
  await Promise.all(open.map((scheduler) => scheduler.close()));
  open = [];
});

function start() {
  const clock = new ManualClock();
  const failures: string[] = [];
  const scheduler = new BullScheduler({
    slotTag: 'p0',
    connect: () => connectForBull(redis.url),
    clock,
    observer: {
      done: () => {},
      failed: (_name, _durationMs, error) => failures.push((error as Error).message),
    },
    onError: () => {},
  });
  open.push(scheduler);
  return { clock, failures, scheduler };
}

describe('BullScheduler', () => {
  test('runs a job again and again, also after it failed', async () => {
    const { failures, scheduler } = start();
    let runs = 0;
    await scheduler.every('job', INTERVAL_MS, async () => {
      runs += 1;
      if (runs === 1) throw new Error('no luck');
    });
    await until('it ran three times', () => runs >= 3);
    expect(failures).toEqual(['no luck']);
  });

  test('two processes share the runs, and what one leaves the other takes over', async () => {
    const first = start();
    const second = start();
    const runs = { first: 0, second: 0 };
    const beginMs = performance.now();
    await first.scheduler.every('job', INTERVAL_MS, async () => {
      runs.first += 1;
    });
    await second.scheduler.every('job', INTERVAL_MS, async () => {
      runs.second += 1;
    });
    await until('both ran a few', () => runs.first + runs.second >= 6);
    const possible = (performance.now() - beginMs) / INTERVAL_MS + 2;
    expect(runs.first + runs.second).toBeLessThanOrEqual(possible);
    open = open.filter((scheduler) => scheduler !== first.scheduler);
    await first.scheduler.close();
    const { first: runsOfFirst, second: before } = runs;
    await until('the second goes on', () => runs.second >= before + 2);
    expect(runs.first).toBe(runsOfFirst);
  });

  test('never runs a job twice at once in one process; others go on meanwhile', async () => {
    const { scheduler } = start();
    const { opened, open: release } = gate();
    let starts = 0;
    let others = 0;
    await scheduler.every('long', INTERVAL_MS, () => {
      starts += 1;
      return opened;
    });
    await scheduler.every('other', INTERVAL_MS, async () => {
      others += 1;
    });
    await until('the other job ran often', () => starts === 1 && others >= 4);
    expect(starts).toBe(1);
    release();
  });

  test('renewing a schedule neither holds its runs up nor multiplies them', async () => {
    const { clock, scheduler } = start();
    let runs = 0;
    await scheduler.every('job', INTERVAL_MS, async () => {
      runs += 1;
    });
    await until('it ran', () => runs >= 1);
    const before = runs;
    const beginMs = performance.now();
    await until('it ran some more', async () => {
      await clock.advance(RENEW_MS);
      return runs >= before + 6;
    });
    const possible = (performance.now() - beginMs) / INTERVAL_MS + 2;
    expect(runs - before).toBeLessThanOrEqual(possible);
  });

  test('a schedule that is lost with Redis’s data is made again', async () => {
    const { clock, scheduler } = start();
    let runs = 0;
    await scheduler.every('job', INTERVAL_MS, async () => {
      runs += 1;
    });
    await until('it ran', () => runs >= 1);
    await redis.cli('FLUSHALL');
    const before = runs;
    await until('it runs again', async () => {
      await clock.advance(RENEW_MS);
      return runs >= before + 3;
    });
  });

  test('Redis that is killed and comes back finds its jobs run again', async () => {
    const { clock, scheduler } = start();
    let runs = 0;
    await scheduler.every('job', INTERVAL_MS, async () => {
      runs += 1;
    });
    await until('it ran', () => runs >= 1);
    await redis.restart();
    const before = runs;
    await until('it runs again', async () => {
      await clock.advance(RENEW_MS);
      return runs >= before + 3;
    });
  });

  test('keeps no more than a few finished jobs', async () => {
    const { scheduler } = start();
    let runs = 0;
    await scheduler.every('job', 10, async () => {
      runs += 1;
    });
    await until('it ran often', () => runs >= 20);
    const finished = Number(await redis.cli('ZCARD', '{p0}:jobs:maintenance:completed'));
    expect(finished).toBeGreaterThan(0);
    expect(finished).toBeLessThanOrEqual(11);
  });
});
