/** What can be set for one stream, what holds when it is not, and what does not fit together. */
import { utf8Length } from '../lib/utf8.ts';
import { guaranteeOf, shapeFor } from '../sketches/count-min.ts';
import type { SummaryShape } from '../sketches/summary.ts';
import { HOUR_MS, LEVELS, type Level, MINUTE_MS, type Retention } from './buckets.ts';
import {
  DIMENSION_VALUES_DEFAULT,
  DIMENSION_VALUES_MAX,
  DIMENSIONS_MAX,
  STREAM_VALUES_MAX,
  VALUE_BYTES_MAX,
} from './limits.ts';
import { MODES, type Mode } from './moderation.ts';
import { RegistryRefusedError } from './registry-errors.ts';

/** A dimension whose segments are kept. */
export interface DimensionSettings {
  readonly name: string;
  /** The only values with a segment of their own; null: those that come first. */
  readonly values: readonly string[] | null;
  /** So many values get a segment of their own; all others count in OTHER_VALUE. */
  readonly maxValues: number;
}

export interface StreamSettings {
  readonly dimensions: readonly DimensionSettings[];
  readonly retention: Retention;
  /** A count is at most `epsilon` of the total too high, but for a share `delta` of the items. */
  readonly epsilon: number;
  readonly delta: number;
  /** The largest k that may be asked for. */
  readonly kMax: number;
  /** Items listed in a summary that is not exact. */
  readonly candidates: number;
  /** What a summary may hold about the actors of its items, encoded. */
  readonly viewerBytes: number;
  readonly mode: Mode;
}

/** Settings as somebody puts them: what is left out takes the default. */
export interface SettingsInput {
  readonly dimensions?: readonly DimensionInput[] | undefined;
  /** In ms. A finer level than the one that is set is never kept longer than it. */
  readonly retention?: Partial<Readonly<Record<Level, number | undefined>>> | undefined;
  readonly epsilon?: number | undefined;
  readonly delta?: number | undefined;
  readonly kMax?: number | undefined;
  readonly candidates?: number | undefined;
  readonly viewerBytes?: number | undefined;
  readonly mode?: Mode | undefined;
}

export interface DimensionInput {
  readonly name: string;
  readonly values?: readonly string[] | null | undefined;
  readonly maxValues?: number | undefined;
}

/** The value that events count under whose own value has no segment. */
export const OTHER_VALUE = 'other';

/** Neither a colon, which ends it in `where=`, nor a name that every object has. */
export const DIMENSION_NAME = /^[a-z][a-z0-9_]{0,63}$/;

export const K_MAX = 500;
export const CANDIDATES_PER_K = 4;
/** Inclusive bounds of the numbers. The smallest epsilon and delta make 65,536 x 8 cells. */
export const SETTING_BOUNDS = {
  epsilon: [0.000_05, 0.01],
  delta: [0.000_5, 0.1],
  kMax: [1, K_MAX],
  candidates: [CANDIDATES_PER_K, 10_000],
  viewerBytes: [8_192, 1_048_576],
} as const;
const WHOLE_SETTINGS = ['kMax', 'candidates', 'viewerBytes'] as const;
/** An event stays in a minute long enough to arrive, be folded and be compacted. */
export const RETENTION_MIN_MS = 2 * HOUR_MS;

/** Of a stream that nobody has set anything for. */
export function defaultSettings(retention: Retention, shape: SummaryShape): StreamSettings {
  return {
    dimensions: [],
    retention,
    ...guaranteeOf(shape),
    kMax: K_MAX,
    candidates: shape.candidates,
    viewerBytes: shape.viewerBytes,
    mode: 'open',
  };
}

/** The settings that hold. Those of an input that was accepted once never fail. */
export function resolveSettings(input: SettingsInput, defaults: StreamSettings): StreamSettings {
  const kMax = input.kMax ?? defaults.kMax;
  return {
    dimensions: (input.dimensions ?? []).map(resolveDimension),
    retention: resolveRetention(input.retention ?? {}, defaults.retention),
    epsilon: input.epsilon ?? defaults.epsilon,
    delta: input.delta ?? defaults.delta,
    kMax,
    candidates: input.candidates ?? defaults.candidates,
    viewerBytes: input.viewerBytes ?? defaults.viewerBytes,
    mode: input.mode ?? defaults.mode,
  };
}

/** Throws RegistryRefusedError `invalid_settings`. */
export function checkSettings(input: SettingsInput, defaults: StreamSettings): void {
  for (const [name, [min, max]] of Object.entries(SETTING_BOUNDS)) {
    const value = input[name as keyof typeof SETTING_BOUNDS];
    if (value === undefined) continue;
    require(value >= min && value <= max, name, `expected a number from ${min} to ${max}`);
  }
  for (const name of WHOLE_SETTINGS) {
    require(Number.isInteger(input[name] ?? 0), name, 'expected a whole number');
  }
  require(MODES.includes(input.mode ?? 'open'), 'mode', `expected one of ${MODES.join(', ')}`);
  if (input.kMax !== undefined || input.candidates !== undefined) {
    const { kMax, candidates } = resolveSettings(input, defaults);
    const fits = candidates >= CANDIDATES_PER_K * kMax;
    require(fits, 'candidates', `must be at least ${CANDIDATES_PER_K} times kMax`);
  }
  checkRetention(input.retention ?? {}, defaults.retention);
  checkDimensions(input.dimensions ?? []);
}

/** Throws RegistryRefusedError `retention_grows`: what was dropped already cannot come back. */
export function checkRetentionShrinks(before: Retention, after: Retention): void {
  for (const level of LEVELS) {
    if (after[level] <= before[level]) continue;
    throw new RegistryRefusedError(
      'retention_grows',
      `the stream has events, of which it keeps each ${level} for ${hours(before[level])}: it may ` +
        'only be kept for less',
      `retention.${level}`,
    );
  }
}

/** How summaries of this stream that are not added to any more look. */
export function closedShapeOf(settings: StreamSettings, base: SummaryShape): SummaryShape {
  const { epsilon, delta, candidates, viewerBytes } = settings;
  return { ...base, ...shapeFor(epsilon, delta), candidates, viewerBytes };
}

function resolveDimension({ name, values = null, maxValues }: DimensionInput): DimensionSettings {
  const limit = values === null ? (maxValues ?? DIMENSION_VALUES_DEFAULT) : values.length;
  return { name, values, maxValues: limit };
}

/** From the coarsest level on: a finer one is kept no longer, and none longer than the default. */
function resolveRetention(
  input: NonNullable<SettingsInput['retention']>,
  defaults: Retention,
): Retention {
  const retention = { ...defaults };
  let longestMs = Number.POSITIVE_INFINITY;
  for (const level of LEVELS.toReversed()) {
    longestMs = Math.min(input[level] ?? defaults[level], defaults[level], longestMs);
    retention[level] = longestMs;
  }
  return retention;
}

function checkRetention(input: NonNullable<SettingsInput['retention']>, defaults: Retention): void {
  const resolved = resolveRetention(input, defaults);
  for (const level of LEVELS) {
    const wanted = input[level];
    if (wanted === undefined) continue;
    const parameter = `retention.${level}`;
    const inBounds = wanted >= RETENTION_MIN_MS && wanted <= defaults[level];
    const range = `from ${hours(RETENTION_MIN_MS)} to ${hours(defaults[level])}`;
    require(wanted % MINUTE_MS === 0, parameter, 'expected whole minutes');
    require(inBounds, parameter, `expected a time ${range}`);
    require(resolved[level] === wanted, parameter, 'a coarser level is kept for less than this');
  }
}

function checkDimensions(dimensions: readonly DimensionInput[]): void {
  require(dimensions.length <= DIMENSIONS_MAX, 'dimensions', `at most ${DIMENSIONS_MAX} are kept`);
  const names = new Set(dimensions.map(({ name }) => name));
  require(names.size === dimensions.length, 'dimensions', 'each may occur only once');
  let valueCount = 0;
  for (const [index, dimension] of dimensions.entries()) {
    const { name, values = null, maxValues } = dimension;
    const at = `dimensions.${index}`;
    require(DIMENSION_NAME.test(name), `${at}.name`, 'expected 1 to 64 of a-z, 0-9 and _, a first');
    require(values === null ||
      maxValues === undefined ||
      maxValues === values.length, `${at}.maxValues`, 'is given by the list of values');
    if (values !== null) checkValues(values, `${at}.values`);
    const { maxValues: limit } = resolveDimension(dimension);
    const isLimit = Number.isInteger(limit) && limit >= 1 && limit <= DIMENSION_VALUES_MAX;
    const field = values === null ? `${at}.maxValues` : `${at}.values`;
    require(isLimit, field, `expected 1 to ${DIMENSION_VALUES_MAX} values`);
    valueCount += limit;
  }
  const fits = valueCount <= STREAM_VALUES_MAX;
  require(fits, 'dimensions', `all together keep at most ${STREAM_VALUES_MAX} values`);
}

function checkValues(values: readonly string[], parameter: string): void {
  require(new Set(values).size === values.length, parameter, 'each may occur only once');
  require(!values.includes(OTHER_VALUE), parameter, `${OTHER_VALUE} is always kept`);
  const fits = values.every((value) => value !== '' && utf8Length(value) <= VALUE_BYTES_MAX);
  require(fits, parameter, `expected values of 1 to ${VALUE_BYTES_MAX} bytes`);
}

function require(holds: boolean, parameter: string, expected: string): void {
  if (holds) return;
  throw new RegistryRefusedError('invalid_settings', `${parameter}: ${expected}`, parameter);
}

function hours(ms: number): string {
  return `${ms / HOUR_MS} h`;
}
