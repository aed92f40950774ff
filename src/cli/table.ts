import type { WindowFacts } from '../client/types.ts';
import { displayWidth, fit, printable } from './terminal.ts';

const GAP = '  ';
const ITEM_COLUMNS_MIN = 10;

/** Of which stream, or of which part of it, and when. */
export function windowLine({ stream, where, from, to, widened }: WindowFacts): string {
  const part = where === undefined ? '' : ` (${printable(where)})`;
  const wide = widened === true ? ' (widened)' : '';
  return `${printable(stream)}${part}: ${from} to ${to}${wide}`;
}

/** What a reader must know before believing the numbers, each once for both answers. */
export function notes(answers: readonly WindowFacts[]): string[] {
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

/** All columns but the last are aligned to the right; the last takes the room that is left. */
export function alignRight(rows: readonly (readonly string[])[], columns: number | null): string[] {
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
