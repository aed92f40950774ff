import { expect, test } from 'vitest';
import { trendingTable } from '../../src/cli/trending-table.ts';
import type { TrendingAnswer } from '../../src/client/types.ts';

const ROW = { count: 1_200, lower: 1_200, upper: 1_200, days: [] };
const TRENDING: TrendingAnswer = {
  stream: 'plays',
  from: '2026-11-30T21:00:00.000Z',
  to: '2026-11-30T22:00:00.000Z',
  asOf: '2026-11-30T22:00:00.000Z',
  by: 'events',
  items: [
    { ...ROW, rank: 1, item: 'clip:42', expected: 150.25, lift: 7.9867, score: 41.2 },
    { ...ROW, rank: 2, item: 'a\n', count: 40, expected: 0, lift: null, score: 9.04 },
  ],
  k: 2,
  returned: 2,
  trendingCount: 3,
  total: 99_000,
  exact: true,
  baseline: { kind: 'days', used: 6, of: 7, tz: 'Asia/Kolkata' },
  minSupport: 10,
  threshold: 5,
};

test('shows for each row what is usual, and how far above it is', () => {
  expect(trendingTable(TRENDING, null)).toEqual([
    'plays: 2026-11-30T21:00:00.000Z to 2026-11-30T22:00:00.000Z',
    'total 99,000, compared with the same time on 6 of 7 earlier days (Asia/Kolkata)',
    '',
    'rank  count  usual  lift  score  item',
    '   1  1,200    150  8.0x   41.2  clip:42',
    '   2     40    0.0   new    9.0  a\\u{a}',
    '1 more trend',
  ]);
});

test('says when windows stand in for days, and when nothing trends', () => {
  const baseline = { ...TRENDING.baseline, kind: 'windows', used: 3 } as const;
  const lines = trendingTable({ ...TRENDING, items: [], trendingCount: 0, baseline }, 40);
  expect(lines.at(-1)).toBe('(nothing is unusual in this window)');
  expect(lines[1]).toBe('total 99,000, compared with 3 of 7 wind…');
});
