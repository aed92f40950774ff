/** What is set for a board: checked, with defaults, and which of it may change later. */
import { BoardRefusedError } from './board-errors.ts';
import { DECIMALS_MAX, KEEP_SEASONS_DEFAULT, KEEP_SEASONS_MAX } from './limits.ts';
import { checkViews, type ViewSpec } from './seasons.ts';
import type { ScoreMode, TieRule } from './store-port.ts';

export type ScoreOrder = 'descending' | 'ascending';

export interface BoardSettings {
  readonly mode: ScoreMode;
  /** Which score leads: the highest or the lowest. */
  readonly order: ScoreOrder;
  readonly ties: TieRule;
  /** Of a score; it is stored as an integer. */
  readonly decimals: number;
  /** Beside all-time, in the zone's calendar. */
  readonly views: readonly ViewSpec[];
  /** IANA name. */
  readonly tz: string;
  /** Ended seasons that can be read, of each view. */
  readonly keepSeasons: number;
  /** Whether it grows by itself while it is hot. */
  readonly autoSplit: boolean;
}

export type SettingsInput = {
  readonly [Name in keyof BoardSettings]?: BoardSettings[Name] | undefined;
};

export const DEFAULT_SETTINGS: BoardSettings = {
  mode: 'increment',
  order: 'descending',
  ties: 'earliest',
  decimals: 0,
  views: [],
  tz: 'UTC',
  keepSeasons: KEEP_SEASONS_DEFAULT,
  autoSplit: true,
};

/** What is stored depends on these. */
const FIXED = ['mode', 'order', 'ties', 'decimals', 'views', 'tz'] as const;

/** Throws BoardRefusedError `invalid_settings`. */
export function newSettings(input: SettingsInput): BoardSettings {
  return checked({ ...DEFAULT_SETTINGS, ...withoutUndefined(input) });
}

/** Throws BoardRefusedError `settings_fixed` or `invalid_settings`. */
export function changedSettings(before: BoardSettings, input: SettingsInput): BoardSettings {
  const after = checked({ ...before, ...withoutUndefined(input) });
  for (const name of FIXED) {
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) {
      const message = `${name} is set when the board is made: delete it, and make it anew`;
      throw new BoardRefusedError('settings_fixed', message, { parameter: name });
    }
  }
  return after;
}

function checked(settings: BoardSettings): BoardSettings {
  const { decimals, views, tz, keepSeasons } = settings;
  expectRange('decimals', decimals, DECIMALS_MAX);
  expectRange('keepSeasons', keepSeasons, KEEP_SEASONS_MAX);
  checkViews(views, tz);
  return settings;
}

function expectRange(parameter: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= max) return;
  const message = `${parameter} must be an integer from 0 to ${max}`;
  throw new BoardRefusedError('invalid_settings', message, { parameter });
}

function withoutUndefined(input: SettingsInput): Partial<BoardSettings> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}
