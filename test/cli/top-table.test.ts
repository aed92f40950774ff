import { expect, test } from 'vitest';
import { topTable } from '../../src/cli/top-table.ts';
import type { DistinctAnswer, TopAnswer } from '../../src/client/types.ts';

const WINDOW = {
  stream: 'likes',
  from: '2026-11-30T21:00:00.000Z',
  to: '2026-11-30T22:00:00.000Z',
  asOf: '2026-11-30T22:00:00.000Z',
};
const TOP: TopAnswer = {
  ...WINDOW,
  items: [
    { rank: 1, item: 'post:42', count: 12_345, lower: 12_345, upper: 12_345 },
    { rank: 2, item: 'a\u001b[31m\n', count: 7, lower: 7, upper: 7 },
  ],
  by: 'events',
  offset: 0,
  certainRanks: 0,
  k: 20,
  returned: 2,
  total: 12_352,
  exact: true,
  errorBound: 0,
  maxUnlisted: 0,
};
const DISTINCT: DistinctAnswer = {
  ...WINDOW,
  estimate: 1_000,
  standardError: 0,
  lower: 1_000,
  upper: 1_000,
  exact: true,
  total: 12_352,
  withoutActor: 0,
};

test('an exact answer is a table of rank, count and item', () => {
  expect(topTable(TOP, DISTINCT, null)).toEqual([
    'likes: 2026-11-30T21:00:00.000Z to 2026-11-30T22:00:00.000Z',
    'total 12,352, distinct 1,000, exact',
    '',
    'rank   count  item',
    '   1  12,345  post:42',
    '   2       7  a\\u{1b}[31m\\u{a}',
  ]);
});

test('an estimated answer shows how far each number may be off', () => {
  const top = {
    ...TOP,
    exact: false,
    errorBound: 30,
    maxUnlisted: 5,
    items: [
      { rank: 1, item: 'a', count: 1_500, lower: 1_490, upper: 1_500 },
      { rank: 2, item: 'b', count: 8, lower: 8, upper: 8 },
    ],
  };
  const distinct = { ...DISTINCT, exact: false, lower: 984, upper: 1_016 };
  expect(topTable(top, distinct, null).slice(1)).toEqual([
    'total 12,352, distinct about 1,000 (984 to 1,016), counts at most 30 too high (99.3 %)',
    '',
    'rank  count    ±  item',
    '   1  1,500  -10  a',
    '   2      8       b',
    'no other item has more than 5',
  ]);
});

test('what makes the numbers doubtful stands above them, once', () => {
  const doubts = { partial: true, missing: ['partition 3'], stale: true, lagging: true };
  const lines = topTable({ ...TOP, ...doubts, saturated: true }, { ...DISTINCT, ...doubts }, null);
  expect(lines.slice(2, 6)).toEqual([
    'PARTIAL: missing partition 3',
    `STALE: the store is gone; as of ${WINDOW.asOf}`,
    `LAGGING: as of ${WINDOW.asOf}`,
    'SATURATED: a count has reached its limit',
  ]);
  expect(lines[6]).toBe('');
});

test('long items are cut to the width of the terminal, numbers are not', () => {
  const items = [{ rank: 1, item: '日本'.repeat(50), count: 12_345, lower: 12_345, upper: 12_345 }];
  const lines = topTable({ ...TOP, items }, DISTINCT, 40);
  expect(lines[4]).toBe(`   1  12,345  ${'日本'.repeat(6)}…`);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
});

test('an empty window says so', () => {
  const lines = topTable({ ...TOP, items: [], total: 0 }, { ...DISTINCT, estimate: 0 }, 80);
  expect(lines.at(-1)).toBe('(no events in this window)');
});

test('by actors the events stand beside them, and the margin goes both ways', () => {
  const top: TopAnswer = {
    ...TOP,
    by: 'actors',
    exact: false,
    standardError: 0.0325,
    items: [
      { rank: 1, item: 'a', count: 1_000, lower: 937, upper: 1_065, events: 4_000 },
      { rank: 2, item: 'b', count: 3, lower: 3, upper: 3, events: 2_000 },
    ],
  };
  expect(topTable(top, DISTINCT, null).slice(1)).toEqual([
    'total 12,352, distinct 1,000, actors estimated (bounds at 95 %)',
    '',
    'rank  actors    ±  events  item',
    '   1   1,000  ±65   4,000  a',
    '   2       3        2,000  b',
  ]);
});

test('a segment and a widened window say so', () => {
  const [line] = topTable({ ...TOP, where: 'country:IN', widened: true }, DISTINCT, null);
  expect(line).toBe(`likes (country:IN): ${WINDOW.from} to ${WINDOW.to} (widened)`);
});
