import type { BoardPage } from '../client/board-types.ts';
import { alignRight } from './table.ts';
import { fit, grouped, printable } from './terminal.ts';

/** What `tally board top` shows, as lines without line ends. `columns`: null cuts nothing. */
export function boardTable(page: BoardPage, columns: number | null): string[] {
  const { board, view, season, endsAt, of, shards, missing = [] } = page;
  const when = endsAt === null ? '' : `, ${season} until ${endsAt}`;
  const rows = page.entries.map(({ rank, score, member }) => [
    ...[grouped(rank), String(score), printable(member)],
  ]);
  const lines = [
    `${printable(board)} (${printable(view)}${when})`,
    `${grouped(of)} members, ${shards} ${shards === 1 ? 'part' : 'parts'}`,
    ...(page.partial === true ? [`PARTIAL: missing ${missing.map(printable).join(', ')}`] : []),
    ...(page.stale === true ? [`STALE: the store is gone; as of ${page.asOf}`] : []),
    '',
    ...alignRight([['rank', 'score', 'member'], ...rows], columns),
    ...(rows.length === 0 ? ['(nobody)'] : []),
  ];
  return lines.map((line) => (columns === null ? line : fit(line, columns)));
}
