import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/streams/buckets.ts';
import {
  type Question,
  QuestionError,
  QuestionRefusedError,
} from '../../../src/streams/questions/question.ts';
import type { AskedIndex } from '../../../src/streams/store-port.ts';
import { WindowError } from '../../../src/streams/window.ts';
import { Pipeline, START_MS } from '../../support/pipeline.ts';
import { stream, trailing } from '../../support/questions.ts';

const window = trailing(HOUR_MS);
const all: readonly Question[] = [
  { type: 'top', stream, window, k: 5 },
  { type: 'top', stream, window, k: 5, by: 'actors' },
  { type: 'distinct', stream, window: trailing(3 * HOUR_MS) },
  { type: 'distinct_by', stream, window, dimension: 'country' },
  { type: 'items', stream, window, items: ['a', 'b'] },
  { type: 'item_distinct', stream, window, item: 'a' },
  { type: 'series', stream, window, step: '10m' },
  { type: 'trending', stream, window, k: 5 },
];

async function filled(): Promise<Pipeline> {
  const pipeline = new Pipeline({ partitionCount: 2 });
  await pipeline.registry.changeSettings(stream, { dimensions: [{ name: 'country' }] });
  await pipeline.sendEach(
    [0, 20, 50, 130].map((age, index) => ({
      item: index % 2 === 0 ? 'a' : 'b',
      actor: `actor-${index}`,
      count: index + 1,
      dims: { country: 'IN' },
      atMs: START_MS - age * MINUTE_MS,
    })),
  );
  await pipeline.compactAll();
  return pipeline;
}

describe('several questions', () => {
  test('are answered in their order, each as it is by itself', async () => {
    const pipeline = await filled();
    const { queries } = pipeline;
    const answers = await queries.answerAll(all);
    expect(answers.map(({ type }) => type)).toEqual(all.map(({ type }) => type));
    for (const [index, question] of all.entries()) {
      expect([answers[index]]).toEqual(await queries.answerAll([question]));
    }
  });

  test('about one stream are answered from one moment of each partition', async () => {
    const pipeline = await filled();
    pipeline.watched.calls = [];
    // Events that come in between are in all answers or in none.
    let isFirst = true;
    pipeline.watched.around = async ({ method }, run) => {
      if (method === 'readIndex' && isFirst) {
        isFirst = false;
        await pipeline.send([{ item: 'late' }]);
        await pipeline.foldAll();
      }
      return run();
    };
    const asked = all.filter(({ type }) => type !== 'trending');
    const answers = await pipeline.queries.answerAll(asked);
    // The fold asks as well, but for no buckets.
    const asks = pipeline.watched
      .callsOf('readIndex')
      .filter(({ args }) => (args[1] as AskedIndex[]).some(({ buckets }) => buckets.length > 0));
    expect(asks).toHaveLength(2);
    const moments = answers.map(({ answer }) => answer.asOfMs);
    expect(new Set(moments).size).toBe(1);
    const totals = answers.flatMap(({ type, answer }) =>
      type === 'top' || type === 'items' || type === 'distinct_by' ? [answer.total] : [],
    );
    expect(new Set(totals).size).toBe(1);
  });

  test('about several streams are read for each of them', async () => {
    const pipeline = new Pipeline();
    await pipeline.send([{ stream: 'one' }, { stream: 'two', count: 2 }]);
    await pipeline.foldAll();
    const ask = (name: string): Question => ({ type: 'distinct', stream: name, window });
    const answers = await pipeline.queries.answerAll([ask('two'), ask('one'), ask('two')]);
    expect(answers.map(({ answer }) => 'total' in answer && answer.total)).toEqual([2, 1, 2]);
  });

  test('are all refused when one cannot be answered, before anything is read', async () => {
    const pipeline = await filled();
    pipeline.watched.calls = [];
    const future = trailing(HOUR_MS, START_MS + HOUR_MS);
    const late: Question = { type: 'distinct', stream, window: future };
    const refusal = await pipeline.queries.answerAll([all[0]!, late]).catch((error) => error);
    expect(refusal).toBeInstanceOf(QuestionRefusedError);
    expect(refusal).toMatchObject({ index: 1, reason: expect.any(WindowError) });
    const where = { dimension: 'city', value: 'x' };
    const unknown: Question = { type: 'top', stream, window, k: 1, where };
    await expect(pipeline.queries.answerAll([unknown])).rejects.toMatchObject({
      index: 0,
      reason: expect.any(QuestionError),
    });
    expect(pipeline.watched.calls).toEqual([]);
  });
});

describe('an explanation', () => {
  test('names what was read: level, size, exactness, age, and from where', async () => {
    const pipeline = await filled();
    await pipeline.send([{ item: 'open' }]);
    await pipeline.foldAll();
    const asked = { stream, window, k: 1, explain: true };
    const { explain } = await pipeline.queries.top(asked);
    const sources = explain?.summaries.map(({ source }) => source);
    expect(new Set(sources)).toEqual(new Set(['store', 'part']));
    for (const summary of explain!.summaries) {
      expect(summary).toMatchObject({ stream, segment: null, itemsExact: true, cut: 0 });
      expect(summary.level).toBe('minute');
      expect(summary.bytes).toBeGreaterThan(0);
      expect(summary.ageMs).toBeGreaterThanOrEqual(0);
    }
    expect(explain).toMatchObject({ summaryCount: explain!.summaries.length });
    for (const spentMs of Object.values(explain!.spent)) expect(spentMs).toBeGreaterThanOrEqual(0);
    const again = await pipeline.queries.top(asked);
    expect(again.explain?.summaries.some(({ source }) => source === 'store')).toBe(false);
    expect(again.explain?.summaries.some(({ source }) => source === 'cache')).toBe(true);
  });

  test('names a summary once that two windows share', async () => {
    const pipeline = new Pipeline();
    const hourMs = Date.UTC(2026, 10, 28, 12);
    await pipeline.send([{ atMs: hourMs }]);
    await pipeline.compactAll();
    // Both halves of the hour are widened to it.
    const half = trailing(HOUR_MS / 2, hourMs + HOUR_MS);
    const asked = { stream, window: half, k: 1, movement: true, explain: true };
    const { explain } = await pipeline.queries.top(asked);
    expect(explain).toMatchObject({ summaryCount: 1, summaries: [{ level: 'hour' }] });
  });

  test('is given only to who asks for it, of what its own question read', async () => {
    const pipeline = await filled();
    const [short, long] = await pipeline.queries.answerAll([
      { type: 'distinct', stream, window: trailing(MINUTE_MS) },
      { type: 'distinct', stream, window, explain: true },
    ]);
    expect(short?.answer).not.toHaveProperty('explain');
    const alone = await pipeline.queries.distinct({ stream, window, explain: true });
    expect(long?.answer.explain?.summaryCount).toBe(alone.explain?.summaryCount);
  });
});
