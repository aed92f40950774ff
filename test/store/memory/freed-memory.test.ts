import { describe, expect, test } from 'vitest';
import { MemoryPartition } from '../../../src/store/memory/memory-stream-store.ts';
import {
  bucketOf,
  DAY_MS,
  expiresAtMs,
  HOUR_MS,
  LEVELS,
  MINUTE_MS,
} from '../../../src/streams/buckets.ts';
import { Pipeline, RETENTION, START_MS } from '../../support/pipeline.ts';

/** Texts that are found again in whatever still holds them. */
const ITEM = 'an item to be found again';
const STREAM = 'a stream to be found again';

describe('the memory of the embedded store', () => {
  test('is freed of each level by the next visit after it has expired', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ item: ITEM }]);
    await pipeline.compactAll();
    for (const [at, level] of LEVELS.entries()) {
      const overMs = expiresAtMs(bucketOf(level, START_MS), RETENTION);
      await advanceTo(pipeline, overMs - 1);
      await pipeline.compactDue();
      expect(copiesOf(pipeline, ITEM)).toBe(LEVELS.length - at);
      await advanceTo(pipeline, overMs);
      await pipeline.compactDue();
      expect(copiesOf(pipeline, ITEM)).toBe(LEVELS.length - at - 1);
    }
  });

  test('is freed of a stream once nothing of it is left', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: STREAM }]);
    await pipeline.compactAll();
    await pipeline.clock.advance(400 * DAY_MS);
    await pipeline.compactDue();
    expect(copiesOf(pipeline, STREAM)).toBe(1);
    await pipeline.clock.advance(2 * DAY_MS);
    await pipeline.compactDue();
    expect(copiesOf(pipeline, STREAM)).toBe(0);
  });

  test('keeps parts that nobody has compacted, however old', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: STREAM, item: ITEM }]);
    await pipeline.foldAll();
    await pipeline.clock.advance(60 * DAY_MS);
    await pipeline.memory.readDueShares(0, 0, 10);
    expect(copiesOf(pipeline, ITEM)).toBe(1);
  });

  test('is freed of what was deleted at once, and of its generation after the keys', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: STREAM, item: ITEM }]);
    await pipeline.compactAll();
    await pipeline.registry.delete(STREAM);
    expect(copiesOf(pipeline, ITEM)).toBe(0);
    const generation = await pipeline.queries.generation(STREAM);
    await pipeline.clock.advance(DAY_MS - 1);
    await pipeline.compactDue();
    expect(await pipeline.queries.generation(STREAM)).toBe(generation);
    await pipeline.clock.advance(1);
    await pipeline.compactDue();
    expect(copiesOf(pipeline, STREAM)).toBe(0);
  });

  test('is freed of ids that are too old by the next append', async () => {
    const pipeline = new Pipeline();
    const [first, second, third] = ['feedfacefeedface', 'cafebabecafebabe', 'deadbeefdeadbeef'];
    await pipeline.send([{}], { key: first });
    await pipeline.clock.advance(DAY_MS - 1);
    await pipeline.send([{}], { key: second });
    expect(copiesOf(pipeline, first)).toBe(1);
    await pipeline.clock.advance(1);
    await pipeline.send([{}], { key: third });
    expect(copiesOf(pipeline, first)).toBe(0);
    expect(copiesOf(pipeline, second)).toBe(1);
  });

  test('ends nothing that is still in use: a sweep changes no answer', async () => {
    const pipeline = new Pipeline();
    const ages = [0, MINUTE_MS, 3 * HOUR_MS, 24 * HOUR_MS, 20 * DAY_MS];
    await pipeline.sendEach(ages.map((age) => ({ atMs: START_MS - age })));
    await pipeline.compactAll();
    const question = {
      stream: 'default',
      window: { kind: 'trailing', lengthMs: 31 * DAY_MS, untilMs: null } as const,
      k: 1,
    };
    const before = await pipeline.queries.top(question);
    await pipeline.memory.readDueShares(0, 0, 10);
    expect(await pipeline.queries.top(question)).toEqual(before);
    expect(before.total).toBe(ages.length);
  });
});

test('a copy of a partition does not change with the partition', async () => {
  const partition = new MemoryPartition();
  partition.log.push({ id: '1-0', tag: 'a', blob: Buffer.from('a') });
  const copy = partition.copy();
  partition.log.push({ id: '2-0', tag: 'b', blob: Buffer.from('b') });
  partition.lastId = '2-0';
  partition.ids.client.set('id', { fingerprint: '', attempt: '', answer: '', expiresAtMs: 1 });
  expect(copy.log).toHaveLength(1);
  expect(copy.lastId).toBe('0-0');
  expect(copy.ids.client.size).toBe(0);
});

function advanceTo(pipeline: Pipeline, timeMs: number): Promise<void> {
  return pipeline.clock.advance(timeMs - pipeline.clock.nowMs());
}

function copiesOf(pipeline: Pipeline, text: string): number {
  return pipeline.memory.everythingStored().split(text).length - 1;
}
