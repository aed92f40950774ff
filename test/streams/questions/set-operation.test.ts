import { beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/streams/buckets.ts';
import { Pipeline, START_MS } from '../../support/pipeline.ts';
import { trailing } from '../../support/questions.ts';

const window = trailing(HOUR_MS);

describe('actors of several streams', () => {
  let pipeline: Pipeline;

  beforeEach(async () => {
    pipeline = new Pipeline({ partitionCount: 2 });
    const events = ['xyz', 'yz', 'zw'].flatMap((actors, index) =>
      actors.split('').map((actor) => ({ stream: `s${index}`, actor, dims: { country: 'IN' } })),
    );
    await pipeline.sendEach(events);
    await pipeline.foldAll();
  });

  test('are united, intersected and subtracted', async () => {
    const { queries } = pipeline;
    const exact = { standardError: 0, exact: true, conclusive: true };
    const union = await queries.distinctTogether({
      streams: ['s0', 's1', 's2'],
      op: 'union',
      window,
    });
    expect(union).toMatchObject({ ...exact, op: 'union', estimate: 4, lower: 4, upper: 4 });
    expect(union.streams.map(({ stream, estimate, total }) => [stream, estimate, total])).toEqual([
      ['s0', 3, 3],
      ['s1', 2, 2],
      ['s2', 2, 2],
    ]);
    const pair = { streams: ['s0', 's2'], window };
    expect(await queries.distinctTogether({ ...pair, op: 'intersection' })).toMatchObject({
      ...exact,
      estimate: 1,
    });
    expect(await queries.distinctTogether({ ...pair, op: 'difference' })).toMatchObject({
      ...exact,
      estimate: 2,
    });
  });

  test('are read at one moment', async () => {
    pipeline.watched.calls = [];
    const question = { streams: ['s0', 's1', 's2'], op: 'union', window } as const;
    const { asOfMs, fromMs, toMs } = await pipeline.queries.distinctTogether(question);
    expect(pipeline.watched.callsOf('readIndex')).toHaveLength(2);
    expect([asOfMs, toMs]).toEqual([START_MS, START_MS]);
    expect(fromMs).toBe(Date.UTC(2026, 10, 30, 11, 35));
  });

  test('say of which stream something is missing', async () => {
    await pipeline.registry.changeSettings('young', {
      retention: { minute: 2 * HOUR_MS, hour: 3 * DAY_MS, day: 3 * DAY_MS },
    });
    const long = trailing(10 * DAY_MS);
    const question = { streams: ['s0', 'young'], op: 'union', window: long } as const;
    const { missing, streams, fromMs } = await pipeline.queries.distinctTogether(question);
    expect(streams[0]?.fromMs).toBe(fromMs);
    expect(streams[1]?.fromMs).toBeGreaterThan(fromMs);
    const begins = new Date(streams[1]!.fromMs).toISOString();
    expect(missing).toEqual([`stream young before ${begins}`]);
  });

  test('of a segment need it in each of the streams', async () => {
    const where = { dimension: 'country', value: 'IN' };
    const question = { streams: ['s0', 's1'], op: 'union', window, where } as const;
    await expect(pipeline.queries.distinctTogether(question)).rejects.toMatchObject({
      code: 'unknown_dimension',
    });
  });
});
