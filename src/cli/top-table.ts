import type { DistinctAnswer, TopAnswer, TopRow } from '../client/types.ts';
import { alignRight, notes, windowLine } from './table.ts';
import { fit, grouped, printable } from './terminal.ts';

/** What `tally top` shows, as lines without line ends. `columns`: null cuts nothing. */
export function topTable(
  top: TopAnswer,
  distinct: DistinctAnswer,
  columns: number | null,
): string[] {
  const byActors = top.by === 'actors';
  const hasUncertain = top.items.some((row) => row.lower < row.upper);
  const cells = top.items.map((row) => [
    String(row.rank),
    grouped(row.count),
    ...(hasUncertain ? [byActors ? margin(row) : uncertainty(row)] : []),
    ...(byActors ? [grouped(row.events ?? 0)] : []),
    printable(row.item),
  ]);
  const titles = [
    'rank',
    byActors ? 'actors' : 'count',
    ...(hasUncertain ? ['±'] : []),
    ...(byActors ? ['events'] : []),
    'item',
  ];
  const table = alignRight([titles, ...cells], columns);
  const empty = cells.length === 0 ? ['(no events in this window)'] : [];
  return [...header(top, distinct), '', ...table, ...empty, ...rest(top)].map((line) =>
    columns === null ? line : fit(line, columns),
  );
}

function header(top: TopAnswer, distinct: DistinctAnswer): string[] {
  return [
    windowLine(top),
    `total ${grouped(top.total)}, distinct ${distinctText(distinct)}, ${accuracyOf(top)}`,
    ...notes([top, distinct]),
  ];
}

function accuracyOf({ exact, by, errorBound }: TopAnswer): string {
  if (exact) return 'exact';
  return by === 'actors'
    ? 'actors estimated (bounds at 95 %)'
    : `counts at most ${grouped(errorBound)} too high (99.3 %)`;
}

function distinctText({ estimate, lower, upper, exact }: DistinctAnswer): string {
  if (exact) return grouped(estimate);
  return `about ${grouped(estimate)} (${grouped(lower)} to ${grouped(upper)})`;
}

/** `upper` is shown, so the truth may be lower by as much as this. */
function uncertainty({ lower, upper }: TopRow): string {
  return upper > lower ? `-${grouped(upper - lower)}` : '';
}

/** An estimate is shown, so the truth may be lower or higher. */
function margin({ count, lower, upper }: TopRow): string {
  return upper > lower ? `±${grouped(Math.max(upper - count, count - lower))}` : '';
}

function rest({ maxUnlisted }: TopAnswer): string[] {
  return maxUnlisted > 0 ? [`no other item has more than ${grouped(maxUnlisted)}`] : [];
}
