/**
 * Time is cut into minutes, hours and days of UTC, and a window is a set of whole buckets. All
 * times are epoch milliseconds.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/durations.ts';

/** From fine to coarse. A coarser level is kept at least as long as a finer one. */
export const LEVELS = ['minute', 'hour', 'day'] as const;
export type Level = (typeof LEVELS)[number];
export const COARSEST_LEVEL: Level = 'day';

export { DAY_MS, HOUR_MS, MINUTE_MS };

export const LEVEL_MS: Readonly<Record<Level, number>> = {
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
};

/** How long each level keeps its time, in ms, counted back from now. */
export type Retention = Readonly<Record<Level, number>>;

/** Levels are dropped by the store this much later than stated, so that clocks may differ. */
export const EXPIRY_SLACK_MS = 60 * MINUTE_MS;

export interface Bucket {
  readonly level: Level;
  readonly startMs: number;
}

export function bucketOf(level: Level, timeMs: number): Bucket {
  return { level, startMs: floorTo(timeMs, LEVEL_MS[level]) };
}

export function bucketEndMs(bucket: Bucket): number {
  return bucket.startMs + LEVEL_MS[bucket.level];
}

/** True while the level still keeps this bucket's time. */
export function isKept(bucket: Bucket, nowMs: number, retention: Retention): boolean {
  return bucketEndMs(bucket) > nowMs - retention[bucket.level];
}

/** The finest level that still keeps this time; null when none does. */
export function finestKept(timeMs: number, nowMs: number, retention: Retention): Level | null {
  return LEVELS.find((level) => isKept(bucketOf(level, timeMs), nowMs, retention)) ?? null;
}

/** The buckets of this time from a level on to the coarsest that are still kept. */
export function keptFrom(
  { level, startMs }: Bucket,
  nowMs: number,
  retention: Retention,
): Bucket[] {
  return LEVELS.slice(LEVELS.indexOf(level))
    .map((coarser) => bucketOf(coarser, startMs))
    .filter((bucket) => isKept(bucket, nowMs, retention));
}

export function expiresAtMs(bucket: Bucket, retention: Retention): number {
  return bucketEndMs(bucket) + retention[bucket.level] + EXPIRY_SLACK_MS;
}

/** When the last bucket that holds this time expires. */
export function lastExpiryMs(timeMs: number, retention: Retention): number {
  return expiresAtMs(bucketOf(COARSEST_LEVEL, timeMs), retention);
}

/** Stands for the bucket in maps. */
export function bucketKey({ level, startMs }: Bucket): string {
  return `${level}:${startMs}`;
}

/** Names the bucket to people. */
export function bucketName(bucket: Bucket): string {
  return `${bucket.level}:${new Date(bucket.startMs).toISOString().slice(0, 16)}Z`;
}

export function floorTo(timeMs: number, unitMs: number): number {
  return Math.floor(timeMs / unitMs) * unitMs;
}

export function ceilTo(timeMs: number, unitMs: number): number {
  return Math.ceil(timeMs / unitMs) * unitMs;
}
