import { expect, test } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/streams/buckets.ts';
import { InProcessScheduler } from '../../src/workers/in-process-scheduler.ts';
import { scheduleStreamJobs } from '../../src/workers/stream-jobs.ts';
import { Pipeline } from '../support/pipeline.ts';

/** The period of the background work. */
const TICK_MS = 500;
/** An event must be visible within two seconds of its acknowledgement. */
const TICKS_MAX = 4;

test('an event is in the answer within four ticks of its acknowledgement, at any moment', async () => {
  const pipeline = new Pipeline({ partitionCount: 2 });
  const running = await startWorkers(pipeline);
  const prng = new Prng(20_261_130);
  let mostTicks = 0;
  for (let sent = 1; sent <= 100; sent += 1) {
    await pipeline.clock.advance(prng.nextInt(3 * TICK_MS));
    await pipeline.send([{}]);
    let ticks = 0;
    while ((await totalOf(pipeline)) < sent) {
      expect(ticks, `event ${sent}`).toBeLessThan(TICKS_MAX);
      await pipeline.clock.advance(TICK_MS);
      ticks += 1;
    }
    mostTicks = Math.max(mostTicks, ticks);
  }
  expect(mostTicks).toBeGreaterThan(0);
  await running.stop();
});

test('what was acknowledged stays in the answer through every tick of folds and compactions', async () => {
  const pipeline = new Pipeline({ partitionCount: 2 });
  const running = await startWorkers(pipeline);
  const prng = new Prng(7);
  let sent = 0;
  for (let tick = 0; tick < 400; tick += 1) {
    if (prng.chance(0.5)) {
      await pipeline.send([{ atMs: pipeline.clock.nowMs() - prng.nextInt(10) * MINUTE_MS }]);
      sent += 1;
    }
    await pipeline.clock.advance(TICK_MS);
    expect(await totalOf(pipeline)).toBe(sent);
  }
  expect(pipeline.watched.callsOf('commitCompaction').length).toBeGreaterThan(0);
  await running.stop();
});

async function startWorkers(pipeline: Pipeline): Promise<{ stop: () => Promise<void> }> {
  const { clock, folder, compactor, upkeep, memory } = pipeline;
  const observer = {
    done: () => {},
    failed: (_job: string, _durationMs: number, error: unknown) => {
      throw error;
    },
  };
  const schedulers = Array.from(
    { length: memory.partitionCount },
    () => new InProcessScheduler(clock, observer),
  );
  await scheduleStreamJobs({ schedulers, folder, compactor, upkeep, onFold: () => {} });
  return {
    stop: async () => {
      await Promise.all(schedulers.map((scheduler) => scheduler.close()));
    },
  };
}

/** Of a window wide enough for the whole test. */
async function totalOf(pipeline: Pipeline): Promise<number> {
  const window = { kind: 'trailing', lengthMs: 3 * HOUR_MS, untilMs: null } as const;
  return (await pipeline.queries.top({ stream: 'default', window, k: 1 })).total;
}
