import { describe, expect, test } from 'vitest';
import { PART_SHAPE, Summary } from '../../src/sketches/summary.ts';
import { decodeSummary } from '../../src/sketches/summary-codec.ts';
import { bucketOf } from '../../src/streams/buckets.ts';
import { PART_BYTES_MAX } from '../../src/streams/limits.ts';
import { mergeExactly, partsOf } from '../../src/streams/parts.ts';
import { Pipeline, START_MS } from '../support/pipeline.ts';

const { hash, tags } = new Pipeline();
const context = { hash, shape: PART_SHAPE };

describe('merging exact summaries', () => {
  test('gives one summary where all of it fits into one part', () => {
    const merged = mergeExactly([summaryOf(['a', 'b']), summaryOf(['b', 'c'])], context);
    expect(merged).toHaveLength(1);
    expect(merged[0]).toMatchObject({ total: 4, itemCount: 3, itemsExact: true });
  });

  test('of nothing gives nothing', () => {
    expect(mergeExactly([], context)).toEqual([]);
  });

  test('leaves its arguments as they were', () => {
    const first = summaryOf(['a']);
    mergeExactly([first, summaryOf(['b'])], context);
    expect(first.total).toBe(1);
  });

  test('stays exact: what has more items than a part may have becomes two', () => {
    const narrow = { hash, shape: { ...PART_SHAPE, exactItems: 4 } };
    const merge = (...lists: string[][]): Summary[] =>
      mergeExactly(
        lists.map((items) => summaryOf(items)),
        narrow,
      );
    expect(merge(['a', 'b'], ['c', 'd'])).toHaveLength(1);
    const apart = merge(['a', 'b'], ['c', 'd'], ['e']);
    expect(apart.map(({ itemCount }) => itemCount)).toEqual([4, 1]);
    expect(apart.every(({ itemsExact }) => itemsExact)).toBe(true);
  });

  test('stays exact: what has more pairs than a part may have becomes two', () => {
    const narrow = { hash, shape: { ...PART_SHAPE, exactPairs: 4 } };
    const ofActors = (...actors: number[]): Summary => {
      const summary = new Summary(narrow);
      for (const actor of actors) summary.add('a', 1, { lo: actor, hi: 1 });
      return summary;
    };
    expect(mergeExactly([ofActors(1, 2), ofActors(3, 4)], narrow)).toHaveLength(1);
    const apart = mergeExactly([ofActors(1, 2), ofActors(3, 4), ofActors(1)], narrow);
    expect(apart.map(({ pairCount }) => pairCount)).toEqual([4, 1]);
    expect(apart.every(({ pairsExact }) => pairsExact)).toBe(true);
  });

  test('keeps pairs apart from what was written before there were any', () => {
    const old = summaryOf(['a']);
    old.loseViewers();
    const apart = mergeExactly([summaryOf(['a']), old, old, summaryOf(['b'])], context);
    expect(apart.map(({ pairsExact, total }) => [pairsExact, total])).toEqual([
      [true, 1],
      [false, 2],
      [true, 1],
    ]);
  });

  test('stays exact: what would be larger than a part may be becomes two', () => {
    const itemBytes = 2 ** 20;
    // A row costs up to 13 bytes beside its item.
    const quarters = [0, 1, 2, 3, 4, 5, 6].map((n) => summaryOf([`${n}`.repeat(itemBytes)]));
    expect(mergeExactly(quarters, context)).toHaveLength(1);
    const lastThatFits = PART_BYTES_MAX - 7 * itemBytes - 8 * 13;
    const fitting = summaryOf(['x'.repeat(lastThatFits)]);
    expect(mergeExactly([...quarters, fitting], context)).toHaveLength(1);
    const tooLarge = summaryOf(['x'.repeat(lastThatFits + 1)]);
    const apart = mergeExactly([...quarters, tooLarge], context);
    expect(apart).toHaveLength(2);
    for (const { blob, bytes } of partsOf(apart, bucketOf('minute', START_MS), 1, tags)) {
      expect(bytes).toBe(blob.length);
      expect(bytes).toBeLessThanOrEqual(PART_BYTES_MAX);
    }
  });
});

test('parts carry a tag each, their size, and what they were made of', () => {
  const bucket = bucketOf('hour', START_MS);
  const parts = partsOf([summaryOf(['a']), summaryOf(['b', 'b'])], bucket, 17, tags);
  expect(new Set(parts.map(({ tag }) => tag)).size).toBe(2);
  expect(parts.map(({ blob }) => decodeSummary(blob, context).total)).toEqual([1, 2]);
  for (const part of parts) {
    expect(part).toMatchObject({ bucket, foldedAtMs: 17, bytes: part.blob.length });
  }
});

function summaryOf(items: readonly string[]): Summary {
  const summary = new Summary(context);
  for (const item of items) summary.add(item, 1, null);
  return summary;
}
