import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../src/lib/clock.ts';
import { InProcessScheduler } from '../../src/workers/in-process-scheduler.ts';
import type { JobObserver } from '../../src/workers/scheduler.ts';
import { gate } from '../support/tally.ts';

const INTERVAL_MS = 500;

function setUp() {
  const clock = new ManualClock();
  const seen: string[] = [];
  const observer: JobObserver = {
    done: (name, durationMs) => seen.push(`${name} done in ${durationMs}`),
    failed: (name, _durationMs, error) => seen.push(`${name} failed: ${(error as Error).message}`),
  };
  return { clock, seen, scheduler: new InProcessScheduler(clock, observer) };
}

describe('InProcessScheduler', () => {
  test('runs each job at its own pace', async () => {
    const { clock, scheduler, seen } = setUp();
    await scheduler.every('quick', INTERVAL_MS, async () => {});
    await scheduler.every('slow', 2 * INTERVAL_MS, async () => {});
    await clock.advance(4 * INTERVAL_MS);
    await scheduler.close();
    expect(seen.filter((line) => line === 'quick done in 0')).toHaveLength(4);
    expect(seen.filter((line) => line === 'slow done in 0')).toHaveLength(2);
  });

  test('never runs a job while it still runs, and one slow job holds no other up', async () => {
    const { clock, scheduler, seen } = setUp();
    const { opened, open } = gate();
    let starts = 0;
    await scheduler.every('long', INTERVAL_MS, () => {
      starts += 1;
      return opened;
    });
    await scheduler.every('other', INTERVAL_MS, async () => {});
    await clock.advance(3 * INTERVAL_MS);
    expect(starts).toBe(1);
    expect(seen).toEqual(Array(3).fill('other done in 0'));
    open();
    await scheduler.close();
    expect(seen).toContain(`long done in ${2 * INTERVAL_MS}`);
  });

  test('a job that fails is reported and runs again', async () => {
    const { clock, scheduler, seen } = setUp();
    await scheduler.every('bad', INTERVAL_MS, () => Promise.reject(new Error('no luck')));
    await clock.advance(2 * INTERVAL_MS);
    await scheduler.close();
    expect(seen).toEqual(['bad failed: no luck', 'bad failed: no luck']);
  });

  test('closing waits for what runs and starts nothing more', async () => {
    const { clock, scheduler, seen } = setUp();
    const { opened, open } = gate();
    await scheduler.every('job', INTERVAL_MS, () => opened);
    await clock.advance(INTERVAL_MS);
    let isClosed = false;
    const closed = scheduler.close().then(() => {
      isClosed = true;
    });
    await clock.advance(INTERVAL_MS);
    expect(isClosed).toBe(false);
    open();
    await closed;
    await clock.advance(10 * INTERVAL_MS);
    expect(seen).toHaveLength(1);
    expect(clock.sleeperCount).toBe(0);
  });
});
