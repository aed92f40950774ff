import { describe, expect, test } from 'vitest';
import { CLOSED_SHAPE } from '../../src/sketches/summary.ts';
import { DAY_MS, HOUR_MS, type Retention } from '../../src/streams/buckets.ts';
import {
  DIMENSION_VALUES_MAX,
  DIMENSIONS_MAX,
  STREAM_VALUES_MAX,
  VALUE_BYTES_MAX,
} from '../../src/streams/limits.ts';
import {
  checkSettings,
  closedShapeOf,
  defaultSettings,
  resolveSettings,
  SETTING_BOUNDS,
  type SettingsInput,
} from '../../src/streams/settings.ts';

const RETENTION: Retention = { minute: 25 * HOUR_MS, hour: 32 * DAY_MS, day: 400 * DAY_MS };
const DEFAULTS = defaultSettings(RETENTION, CLOSED_SHAPE);

function faultOf(input: SettingsInput): string | null {
  try {
    checkSettings(input, DEFAULTS);
    return null;
  } catch (error) {
    const { code, parameter } = error as { code: string; parameter: string };
    expect(code).toBe('invalid_settings');
    return parameter;
  }
}

const names = (count: number): { name: string; maxValues: number }[] =>
  Array.from({ length: count }, (_, index) => ({ name: `d${index}`, maxValues: 1 }));
const values = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`);

describe('settings that are not given', () => {
  test('are those of the deployment', () => {
    expect(resolveSettings({}, DEFAULTS)).toEqual(DEFAULTS);
    expect(closedShapeOf(DEFAULTS, CLOSED_SHAPE)).toMatchObject(CLOSED_SHAPE);
    expect(faultOf({})).toBeNull();
  });

  test('of a dimension are 50 values, those that come first', () => {
    const { dimensions } = resolveSettings({ dimensions: [{ name: 'country' }] }, DEFAULTS);
    expect(dimensions).toEqual([{ name: 'country', values: null, maxValues: 50 }]);
  });

  test('of a retention follow the coarser level that is given', () => {
    const { retention } = resolveSettings({ retention: { hour: 10 * HOUR_MS } }, DEFAULTS);
    expect(retention).toEqual({ ...RETENTION, minute: 10 * HOUR_MS, hour: 10 * HOUR_MS });
  });

  test('hold also when the deployment keeps less than it did when they were put', () => {
    const less = { ...DEFAULTS, retention: { ...RETENTION, minute: 3 * HOUR_MS } };
    const { retention } = resolveSettings({ retention: { minute: 5 * HOUR_MS } }, less);
    expect(retention.minute).toBe(3 * HOUR_MS);
  });
});

describe('the sketch of a stream', () => {
  test('is as wide and deep as its epsilon and delta ask for', () => {
    const settings = resolveSettings({ epsilon: 0.001, delta: 0.05, candidates: 2_500 }, DEFAULTS);
    const shape = closedShapeOf(settings, CLOSED_SHAPE);
    expect(shape).toMatchObject({ width: 4_096, depth: 3, candidates: 2_500 });
    const [epsilon] = SETTING_BOUNDS.epsilon;
    const [delta] = SETTING_BOUNDS.delta;
    const largest = closedShapeOf({ ...DEFAULTS, epsilon, delta }, CLOSED_SHAPE);
    expect(largest).toMatchObject({ width: 65_536, depth: 8 });
  });
});

describe('limits of settings', () => {
  test.each(Object.entries(SETTING_BOUNDS))('%s lies within its bounds', (name, [min, max]) => {
    const fits = { kMax: 1, candidates: 2_000 };
    expect(faultOf({ ...fits, [name]: min })).toBeNull();
    expect(faultOf({ ...fits, [name]: max })).toBeNull();
    expect(faultOf({ ...fits, [name]: min - min * 0.01 })).toBe(name);
    expect(faultOf({ ...fits, [name]: max + max * 0.01 })).toBe(name);
    expect(faultOf({ ...fits, [name]: Number.NaN })).toBe(name);
  });

  test.each(['kMax', 'candidates', 'viewerBytes'] as const)('%s is a whole number', (name) => {
    expect(faultOf({ [name]: 9_000.5 })).toBe(name);
    expect(faultOf({ kMax: 1, candidates: 100.5 })).toBe('candidates');
  });

  test('there are four candidates for each of the largest k', () => {
    expect(faultOf({ kMax: 100, candidates: 400 })).toBeNull();
    expect(faultOf({ kMax: 101, candidates: 400 })).toBe('candidates');
    expect(faultOf({ candidates: 1_999 })).toBe('candidates');
  });

  test('a level is kept from two hours to what the deployment keeps', () => {
    expect(faultOf({ retention: { minute: 2 * HOUR_MS } })).toBeNull();
    expect(faultOf({ retention: { minute: 2 * HOUR_MS - 60_000 } })).toBe('retention.minute');
    expect(faultOf({ retention: { hour: RETENTION.hour } })).toBeNull();
    expect(faultOf({ retention: { hour: RETENTION.hour + 60_000 } })).toBe('retention.hour');
    expect(faultOf({ retention: { minute: 2 * HOUR_MS + 1 } })).toBe('retention.minute');
  });

  test('a level is not kept longer than the coarser one', () => {
    const equal = { minute: 10 * HOUR_MS, hour: 10 * HOUR_MS };
    expect(faultOf({ retention: equal })).toBeNull();
    expect(faultOf({ retention: { ...equal, hour: 9 * HOUR_MS } })).toBe('retention.minute');
    expect(faultOf({ retention: { minute: DAY_MS, hour: DAY_MS } })).toBeNull();
  });

  test('a stream keeps so many dimensions, each once, by names that fit into a query', () => {
    expect(faultOf({ dimensions: names(DIMENSIONS_MAX) })).toBeNull();
    expect(faultOf({ dimensions: names(DIMENSIONS_MAX + 1) })).toBe('dimensions');
    expect(faultOf({ dimensions: [...names(1), ...names(1)] })).toBe('dimensions');
    for (const name of ['a', 'a_1', 'a'.repeat(64)]) {
      expect(faultOf({ dimensions: [{ name }] })).toBeNull();
    }
    for (const name of ['', 'A', '1a', 'a:b', 'a-b', '__proto__', 'é', 'a'.repeat(65)]) {
      expect(faultOf({ dimensions: [{ name }] })).toBe('dimensions.0.name');
    }
  });

  test('a dimension keeps so many values, and all of a stream so many together', () => {
    const max = DIMENSION_VALUES_MAX;
    expect(faultOf({ dimensions: [{ name: 'a', maxValues: max }] })).toBeNull();
    for (const maxValues of [0, 1.5, max + 1]) {
      const dimensions = [{ name: 'a', maxValues }];
      expect(faultOf({ dimensions })).toBe('dimensions.0.maxValues');
    }
    expect(faultOf({ dimensions: [{ name: 'a', values: values(max) }] })).toBeNull();
    for (const list of [values(max + 1), []]) {
      const dimensions = [{ name: 'a', values: list }];
      expect(faultOf({ dimensions })).toBe('dimensions.0.values');
    }
    const two = [
      { name: 'a', maxValues: max },
      { name: 'b', values: values(max) },
    ];
    expect(2 * max).toBe(STREAM_VALUES_MAX);
    expect(faultOf({ dimensions: two })).toBeNull();
    expect(faultOf({ dimensions: [...two, { name: 'c', maxValues: 1 }] })).toBe('dimensions');
  });

  test('listed values are different, have a size, and are not the one of the rest', () => {
    const parameter = 'dimensions.0.values';
    const listed = (list: string[]): string | null =>
      faultOf({ dimensions: [{ name: 'a', values: list }] });
    expect(listed(['é'.repeat(VALUE_BYTES_MAX / 2)])).toBeNull();
    expect(listed(['é'.repeat(VALUE_BYTES_MAX / 2) + 'x'])).toBe(parameter);
    expect(listed([''])).toBe(parameter);
    expect(listed(['x', 'x'])).toBe(parameter);
    expect(listed(['other'])).toBe(parameter);
    const withLimit = { name: 'a', values: ['x'], maxValues: 2 };
    expect(faultOf({ dimensions: [withLimit] })).toBe('dimensions.0.maxValues');
  });
});
