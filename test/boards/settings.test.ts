import { describe, expect, test } from 'vitest';
import { BoardRefusedError } from '../../src/boards/board-errors.ts';
import { DECIMALS_MAX, KEEP_SEASONS_MAX, VIEWS_MAX } from '../../src/boards/limits.ts';
import {
  changedSettings,
  DEFAULT_SETTINGS,
  newSettings,
  type SettingsInput,
} from '../../src/boards/settings.ts';

/** The code and the parameter of a refusal; null: it was not refused. */
function refusalOf(run: () => unknown): { code: string; parameter: string | null } | null {
  try {
    run();
    return null;
  } catch (error) {
    if (!(error instanceof BoardRefusedError)) throw error;
    return { code: error.code, parameter: error.parameter };
  }
}

function viewsOf(count: number) {
  const cron = '0 5 * * *';
  return Array.from({ length: count }, (_, index) => ({ name: `view-${index}`, cron }));
}

describe('settings of boards', () => {
  test('what is not said is as by default', () => {
    expect(newSettings({})).toEqual(DEFAULT_SETTINGS);
    expect(newSettings({ mode: undefined, decimals: undefined })).toEqual(DEFAULT_SETTINGS);
    expect(newSettings({ mode: 'best', decimals: 2 })).toEqual({
      ...DEFAULT_SETTINGS,
      ...{ mode: 'best', decimals: 2 },
    });
  });

  test.each<[SettingsInput, SettingsInput, string]>([
    [{ decimals: DECIMALS_MAX }, { decimals: DECIMALS_MAX + 1 }, 'decimals'],
    [{ decimals: 0 }, { decimals: -1 }, 'decimals'],
    [{ decimals: 1 }, { decimals: 1.5 }, 'decimals'],
    [{ decimals: 2 }, { decimals: Number.NaN }, 'decimals'],
    [{ keepSeasons: KEEP_SEASONS_MAX }, { keepSeasons: KEEP_SEASONS_MAX + 1 }, 'keepSeasons'],
    [{ keepSeasons: 0 }, { keepSeasons: -1 }, 'keepSeasons'],
    [{ keepSeasons: 1 }, { keepSeasons: Number.POSITIVE_INFINITY }, 'keepSeasons'],
    [{ views: viewsOf(VIEWS_MAX) }, { views: viewsOf(VIEWS_MAX + 1) }, 'views'],
  ])('%j is taken and %j is refused', (taken, refused, parameter) => {
    expect(newSettings(taken)).toMatchObject(taken);
    const refusal = { code: 'invalid_settings', parameter };
    expect(refusalOf(() => newSettings(refused))).toEqual(refusal);
  });

  test.each<[string, SettingsInput]>([
    ['mode', { mode: 'last' }],
    ['order', { order: 'ascending' }],
    ['ties', { ties: 'dense' }],
    ['decimals', { decimals: 3 }],
    ['views', { views: viewsOf(1) }],
    ['tz', { tz: 'Europe/Berlin' }],
  ])('what is stored depends on %s: it stays as the board was made', (parameter, input) => {
    const refusal = { code: 'settings_fixed', parameter };
    expect(refusalOf(() => changedSettings(DEFAULT_SETTINGS, input))).toEqual(refusal);
  });

  test('saying again what is set changes nothing', () => {
    const settings = newSettings({ mode: 'best', ties: 'dense', views: viewsOf(2), decimals: 1 });
    expect(changedSettings(settings, settings)).toEqual(settings);
    expect(changedSettings(settings, {})).toEqual(settings);
    expect(changedSettings(settings, { views: viewsOf(2), tz: undefined })).toEqual(settings);
  });

  test('how many seasons are kept, and whether it grows, may change', () => {
    const changed = changedSettings(DEFAULT_SETTINGS, { keepSeasons: 1, autoSplit: false });
    expect(changed).toEqual({ ...DEFAULT_SETTINGS, keepSeasons: 1, autoSplit: false });
  });

  test('a change is held to the same limits as a new board', () => {
    const refusal = { code: 'invalid_settings', parameter: 'keepSeasons' };
    const change = () => changedSettings(DEFAULT_SETTINGS, { keepSeasons: KEEP_SEASONS_MAX + 1 });
    expect(refusalOf(change)).toEqual(refusal);
  });
});
