import type { DistinctAnswer, TopAnswer, TopRow, WindowFacts } from '../client/types.ts';
import { displayWidth, fit, grouped, printable } from './terminal.ts';

const GAP = '  ';
const ITEM_COLUMNS_MIN = 10;

/** What `tally top` shows, as lines without line ends. `columns`: null cuts nothing. */
export function topTable(
  top: TopAnswer,
  distinct: DistinctAnswer,
  columns: number | null,
): string[] {
  const rows = top.items.map((row) => [
    String(row.rank),
    grouped(row.count),
    uncertainty(row),
    printable(row.item),
  ]);
  const hasUncertain = top.items.some((row) => row.lower < row.upper);
  const cells = [['rank', 'count', '±', 'item'], ...rows].map((row) =>
    hasUncertain ? row : row.filter((_, index) => index !== 2),
  );
  const table = alignRight(cells, columns);
  const empty = rows.length === 0 ? ['(no events in this window)'] : [];
  return [...header(top, distinct), '', ...table, ...empty, ...rest(top)].map((line) =>
    columns === null ? line : fit(line, columns),
  );
}

function header(top: TopAnswer, distinct: DistinctAnswer): string[] {
  const accuracy = top.exact
    ? 'exact'
    : `counts at most ${grouped(top.errorBound)} too high (99.3 %)`;
  return [
    `${printable(top.stream)}: ${top.from} to ${top.to}`,
    `total ${grouped(top.total)}, distinct ${distinctText(distinct)}, ${accuracy}`,
    ...notes([top, distinct]),
  ];
}

function distinctText({ estimate, lower, upper, exact }: DistinctAnswer): string {
  if (exact) return grouped(estimate);
  return `about ${grouped(estimate)} (${grouped(lower)} to ${grouped(upper)})`;
}

/** What a reader must know before believing the numbers, each once for both answers. */
function notes(answers: readonly WindowFacts[]): string[] {
  const lines = answers.flatMap((answer) => [
    ...(answer.partial === true
      ? [`PARTIAL: missing ${(answer.missing ?? []).map(printable).join(', ')}`]
      : []),
    ...(answer.stale === true ? [`STALE: the store is gone; as of ${answer.asOf}`] : []),
    ...(answer.lagging === true ? [`LAGGING: as of ${answer.asOf}`] : []),
  ]);
  const isSaturated = answers.some((answer) => 'saturated' in answer && answer.saturated === true);
  if (isSaturated) lines.push('SATURATED: a count has reached its limit');
  return [...new Set(lines)];
}

/** `upper` is shown, so the truth may be lower by as much as this. */
function uncertainty({ lower, upper }: TopRow): string {
  return upper > lower ? `-${grouped(upper - lower)}` : '';
}

function rest({ maxUnlisted }: TopAnswer): string[] {
  return maxUnlisted > 0 ? [`no other item has more than ${grouped(maxUnlisted)}`] : [];
}

/** All columns but the last are aligned to the right; the last takes the room that is left. */
function alignRight(rows: readonly (readonly string[])[], columns: number | null): string[] {
  const widths = (rows[0] ?? []).map((_, index) =>
    Math.max(...rows.map((row) => displayWidth(row[index] ?? ''))),
  );
  const fixed = widths.slice(0, -1).reduce((sum, width) => sum + width + GAP.length, 0);
  const itemColumns =
    columns === null ? Number.POSITIVE_INFINITY : Math.max(columns - fixed, ITEM_COLUMNS_MIN);
  return rows.map((row) => {
    const numbers = row.slice(0, -1).map((text, index) => text.padStart(widths[index] ?? 0));
    return [...numbers, fit(row.at(-1) ?? '', itemColumns)].join(GAP);
  });
}
