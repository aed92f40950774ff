/** The seasons of a board's views, as its parts must know them. */
import { BoardRefusedError } from './board-errors.ts';
import type { KnownBoard } from './board-registry.ts';
import type { SeasonAsked } from './boards.ts';
import type { Season } from './seasons.ts';
import type { SeasonAt } from './store-port.ts';

/** Of every view the one of this moment, all-time first. */
export function currentSeasons(board: KnownBoard, nowMs: number): SeasonAt[] {
  const { calendar } = board;
  return calendar.views.map((view) => seasonAtOf(board, calendar.seasonAt(view, nowMs)));
}

/** All that can be read, of every view the newest first, all-time first. */
export function keptSeasons(board: KnownBoard, nowMs: number): SeasonAt[] {
  return board.calendar.views.flatMap((view) =>
    retained(board, view, nowMs).map((season) => seasonAtOf(board, season)),
  );
}

/** Throws BoardRefusedError `season_not_found`. */
export function askedSeason(board: KnownBoard, asked: SeasonAsked, nowMs: number): SeasonAt {
  const { view, season: id } = asked;
  const { calendar } = board;
  if (!calendar.views.includes(view)) {
    const message = `the board has no view ${JSON.stringify(view)}`;
    throw new BoardRefusedError('season_not_found', message, { parameter: 'view' });
  }
  if (id === null) return seasonAtOf(board, calendar.seasonAt(view, nowMs));
  const found = retained(board, view, nowMs).find((season) => season.id === id);
  if (found === undefined) {
    const message = `no season ${JSON.stringify(id)} of the view is kept`;
    throw new BoardRefusedError('season_not_found', message, { parameter: 'season' });
  }
  return seasonAtOf(board, found);
}

function retained({ calendar, document }: KnownBoard, view: string, nowMs: number): Season[] {
  const { settings, createdAtMs } = document;
  return calendar.retained(view, nowMs, settings.keepSeasons, createdAtMs);
}

function seasonAtOf({ calendar, document }: KnownBoard, season: Season): SeasonAt {
  // One more than is told, so that clocks may differ.
  const keep = document.settings.keepSeasons + 1;
  return { ...season, expiresAtMs: calendar.expiresAtMs(season, keep) };
}
