/** From what the boards room answers to JSON. */
import type { z } from 'zod';
import type {
  BoardFrame,
  MemberAnswer,
  PageAnswer,
  RanksAnswer,
  ScoreResult,
  ScoresAnswer,
  StatsAnswer,
} from '../boards/answers.ts';
import type { BoardDescription, BoardListing } from '../boards/boards.ts';
import type { ViewSpec } from '../boards/seasons.ts';
import type { SettingsInput } from '../boards/settings.ts';
import type {
  boardInfo,
  boardList,
  boardSettings,
  memberAnswer,
  pageAnswer,
  ranksAnswer,
  scoresAnswer,
  statsAnswer,
} from './board-schemas.ts';

type Json = z.output<ReturnType<typeof z.json>>;

export function presentScores(answer: ScoresAnswer): z.input<typeof scoresAnswer> {
  return {
    board: answer.board,
    shards: answer.shards,
    results: answer.results.map(presentResult),
  };
}

/** Most results are plain: nothing is spread into them. */
function presentResult(result: ScoreResult): z.input<typeof scoresAnswer>['results'][number] {
  const { member, score, rank, isDuplicate, isOutOfRange } = result;
  if (rank === undefined && !isDuplicate && !isOutOfRange) return { member, score };
  return {
    ...{ member, score },
    ...(rank === undefined ? {} : { rank }),
    ...(isDuplicate ? { duplicate: true as const } : {}),
    ...(isOutOfRange ? { code: 'out_of_range' as const } : {}),
  };
}

export function presentPage(page: PageAnswer): z.input<typeof pageAnswer> {
  return {
    ...frame(page),
    entries: page.entries.map(({ rank, member, score, meta }) => ({
      ...{ rank, member, score, ...withMeta(meta) },
    })),
    ...(page.next === null ? {} : { next: page.next }),
    ...(page.previous === null ? {} : { previous: page.previous }),
  };
}

export function presentMember(answer: MemberAnswer): z.input<typeof memberAnswer> {
  const { member, score, rank, percentile, isHidden, meta } = answer;
  return {
    ...frame(answer),
    ...{ member, score, rank, percentile },
    ...(isHidden ? { hidden: true as const } : {}),
    ...withMeta(meta),
  };
}

export function presentRanks(answer: RanksAnswer): z.input<typeof ranksAnswer> {
  return {
    ...frame(answer),
    members: answer.members.map(({ member, score, rank, place, meta }) => ({
      ...{ member, score, rank, place, ...withMeta(meta) },
    })),
  };
}

export function presentStats(answer: StatsAnswer): z.input<typeof statsAnswer> {
  const { sum, min, max, histogram } = answer;
  return { ...frame(answer), sum, min, max, histogram: [...histogram] };
}

export function presentBoard(board: BoardDescription): z.input<typeof boardInfo> {
  const { views, ...settings } = board.settings;
  return {
    board: board.board,
    settings: { ...settings, views: views.map(presentView) },
    createdAt: timeText(board.createdAtMs),
    shards: board.shards,
    ...(board.movingTo === null ? {} : { movingTo: board.movingTo }),
    seasons: board.seasons.map(({ view, id, startsAtMs, endsAtMs, isCurrent }) => ({
      view,
      season: id,
      startsAt: endsAtMs === null ? null : timeText(startsAtMs),
      endsAt: endsAtMs === null ? null : timeText(endsAtMs),
      ...(isCurrent ? { current: true as const } : {}),
    })),
  };
}

export function presentBoards({ boards, next }: BoardListing): z.input<typeof boardList> {
  return { boards: [...boards], ...(next === null ? {} : { next }) };
}

export function settingsOf(body: z.output<typeof boardSettings>): SettingsInput {
  const { views, ...settings } = body;
  const specs = views?.map((view) =>
    typeof view === 'string' ? { name: view, cron: null } : view,
  );
  return { ...settings, ...(specs === undefined ? {} : { views: specs }) };
}

type ViewBody = NonNullable<z.input<typeof boardSettings>['views']>[number];

function presentView({ name, cron }: ViewSpec): ViewBody {
  return cron === null ? (name as Extract<ViewBody, string>) : { name, cron };
}

function frame(answer: BoardFrame) {
  const { board, view, season, endsAtMs, asOfMs, of, shards, missing } = answer;
  return {
    ...{ board, view, season },
    endsAt: endsAtMs === null ? null : timeText(endsAtMs),
    asOf: timeText(asOfMs),
    ...{ of, shards },
    ...(missing.length === 0 ? {} : { partial: true as const, missing: [...missing] }),
  };
}

function withMeta(meta: string | null): { meta?: Json } {
  return meta === null ? {} : { meta: JSON.parse(meta) as Json };
}

function timeText(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
