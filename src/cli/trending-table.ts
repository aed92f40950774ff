import type { TrendingAnswer } from '../client/types.ts';
import { alignRight, notes, windowLine } from './table.ts';
import { fit, grouped, printable } from './terminal.ts';

/** What `tally trending` shows, as lines without line ends. `columns`: null cuts nothing. */
export function trendingTable(answer: TrendingAnswer, columns: number | null): string[] {
  const { by, items, trendingCount, total } = answer;
  const titles = ['rank', by === 'actors' ? 'actors' : 'count', 'usual', 'lift', 'score', 'item'];
  const rows = items.map(({ rank, count, expected, lift, score, item }) => [
    String(rank),
    grouped(count),
    decimal(expected),
    lift === null ? 'new' : `${decimal(lift)}x`,
    decimal(score),
    printable(item),
  ]);
  const more = trendingCount - items.length;
  return [
    windowLine(answer),
    `total ${grouped(total)}, ${baselineText(answer)}`,
    ...notes([answer]),
    '',
    ...alignRight([titles, ...rows], columns),
    ...(rows.length === 0 ? ['(nothing is unusual in this window)'] : []),
    ...(more > 0 ? [`${grouped(more)} more trend`] : []),
  ].map((line) => (columns === null ? line : fit(line, columns)));
}

function baselineText({ baseline: { kind, used, of, tz } }: TrendingAnswer): string {
  return kind === 'days'
    ? `compared with the same time on ${used} of ${of} earlier days (${tz})`
    : `compared with ${used} of ${of} windows right before, for want of earlier days`;
}

/** One digit after the point below 100, none above. */
function decimal(value: number): string {
  return value < 100 ? value.toFixed(1) : grouped(value);
}
