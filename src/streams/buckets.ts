/**
 * The calendar: time is cut into minutes and hours of UTC, and a window is a set of whole buckets.
 * All times are epoch milliseconds.
 */

export const LEVELS = ['minute', 'hour'] as const;
export type Level = (typeof LEVELS)[number];

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

export const LEVEL_MS: Readonly<Record<Level, number>> = { minute: MINUTE_MS, hour: HOUR_MS };

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

export function expiresAtMs(bucket: Bucket, retention: Retention): number {
  return bucketEndMs(bucket) + retention[bucket.level] + EXPIRY_SLACK_MS;
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
