/**
 * The settings: environment variables in, one frozen `Config` out. Nothing else reads the
 * environment. All faults are reported at once, each with the variable's name.
 */
import { isIP } from 'node:net';
import { z } from 'zod';
import { DAY_MS, HOUR_MS, type Retention } from './streams/buckets.ts';

const SECOND_MS = 1000;
const MIB = 1024 * 1024;
const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const ROLES = ['all', 'api', 'worker'] as const;
const REDIS_SCHEME = /^(redis|rediss|redis\+sentinel|redis\+cluster):\/\/./;
const PREFIX = 'TALLY_';
/** Yesterday can be told by the hours of any zone's clock. */
const HOUR_RETENTION_DAYS_MIN = 3;
const MINUTE_RETENTION_HOURS_MIN = 2;

export interface Config {
  /** Null: the embedded store in this process's memory. */
  readonly redisUrl: string | null;
  readonly host: string;
  readonly port: number;
  readonly role: (typeof ROLES)[number];
  readonly ackReplicas: number;
  readonly ackTimeoutMs: number;
  /** 16 hex digits; null: what the store keeps, or made at the first start. */
  readonly hashSecret: string | null;
  /** Null: what the store keeps, or one for each primary at the first start. */
  readonly partitions: number | null;
  readonly maxEventsPerRequest: number;
  readonly maxBodyBytes: number;
  readonly maxBodyBytesInFlight: number;
  readonly retention: Retention;
  readonly maxFutureMs: number;
  readonly maxStreams: number;
  readonly idempotencyTtlMs: number;
  readonly serverIdTtlMs: number;
  readonly maxRememberedIds: number;
  readonly maxBoards: number;
  /** Of ids of single increments. */
  readonly incrementIdTtlMs: number;
  readonly maxPartIds: number;
  readonly partWritesPerSecond: number;
  readonly partHeadroom: number;
  readonly maxBacklogBytes: number;
  readonly maxBacklogEntries: number;
  /** Decoded summaries. */
  readonly cacheBytes: number;
  /** Ready answers. */
  readonly answerCacheBytes: number;
  readonly maxStaleMs: number;
  readonly graceMs: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

/** Every fault of the environment; `message` has one line for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

interface Setting<T> {
  readonly schema: z.ZodType<T>;
  /** What holds when the variable is unset or empty. */
  readonly fallback: string;
  readonly help: string;
  readonly isSecret?: true;
}

function setting<T>(schema: z.ZodType<T>, fallback: string, help: string): Setting<T> {
  return { schema, fallback, help };
}

function secret<T>(schema: z.ZodType<T>, fallback: string, help: string): Setting<T> {
  return { schema, fallback, help, isSecret: true };
}

function whole(min: number, max: number, unit = 1): z.ZodType<number> {
  const error = `expected a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, { error, abort: true })
    .transform(Number)
    .refine((value) => value >= min && value <= max, error)
    .transform((value) => value * unit);
}

function orNull<T>(schema: z.ZodType<T>): z.ZodType<T | null> {
  return z.union([z.literal('').transform(() => null), schema], {
    error: (issue) => (issue.code === 'invalid_union' ? lastMessage(issue.errors) : undefined),
  });
}

/** What the schema proper said; that the text is not empty is no news to anybody. */
function lastMessage(errors: readonly { message: string }[][]): string | undefined {
  return errors.at(-1)?.[0]?.message;
}

const loopbackHost = z
  .string()
  .refine(
    isLoopback,
    'expected a loopback address (127.0.0.1, ::1 or localhost): there are no access keys yet, so ' +
      'to be reached from elsewhere, put a reverse proxy that checks access on the same machine',
  );
const redisUrl = z
  .string()
  .regex(
    REDIS_SCHEME,
    'expected redis://, rediss://, redis+sentinel://host:port,host:port/master or ' +
      'redis+cluster://host:port,host:port',
  );
const hashSecret = z.string().regex(/^[0-9a-f]{16}$/, 'expected 16 hex digits in lower case');
const role = z.enum(ROLES, `expected one of ${ROLES.join(', ')}`);
const logLevel = z.enum(LOG_LEVELS, `expected one of ${LOG_LEVELS.join(', ')}`);
const httpUrl = z.string().regex(/^https?:\/\/[^/]+/, 'expected a URL with http:// or https://');

/** The one list of settings; docs/operations.md has the same (a test compares them). */
export const SETTINGS = {
  REDIS_URL: secret(
    orNull(redisUrl),
    '',
    'The Redis to use: `redis://`, `rediss://`, `redis+sentinel://h:p,h:p/master` or ' +
      '`redis+cluster://h:p,h:p`. Unset: the embedded store, which forgets all at a restart.',
  ),
  TALLY_HOST: setting(loopbackHost, '127.0.0.1', 'Address to listen on; loopback only.'),
  TALLY_PORT: setting(whole(0, 65_535), '8080', 'Port to listen on; 0 takes a free one.'),
  TALLY_URL: setting(
    httpUrl,
    'http://127.0.0.1:8080',
    'The server that the command line talks to.',
  ),
  TALLY_ROLE: setting(
    role,
    'all',
    '`api`, `worker` or `all` (both in one process). Other than `all` needs `REDIS_URL`.',
  ),
  TALLY_ACK_REPLICAS: setting(
    whole(0, 5),
    '0',
    'A write is acknowledged only after so many replicas have it.',
  ),
  TALLY_ACK_TIMEOUT_MS: setting(
    whole(50, 30_000),
    '1000',
    'How long a write waits for `TALLY_ACK_REPLICAS`.',
  ),
  TALLY_HASH_SECRET: secret(
    orNull(hashSecret),
    '',
    'Key of the hash, 16 hex digits. Unset: made at the first start and kept in the store.',
  ),
  TALLY_PARTITIONS: setting(
    orNull(whole(1, 64)),
    '',
    'Parts each stream is spread over; fixed at the first start. Unset: one, on a cluster one ' +
      'for each primary.',
  ),
  TALLY_MAX_EVENTS_PER_REQUEST: setting(whole(1, 100_000), '10000', 'Events in one request.'),
  TALLY_MAX_BODY_BYTES: setting(
    whole(1024, 64 * MIB),
    String(8 * MIB),
    'Size of one request body, decompressed.',
  ),
  TALLY_MAX_BODY_BYTES_IN_FLIGHT: setting(
    whole(1024, 4096 * MIB),
    String(128 * MIB),
    'Size of all bodies being worked on, decompressed; beyond it `overloaded`.',
  ),
  TALLY_MINUTE_RETENTION_HOURS: setting(
    whole(MINUTE_RETENTION_HOURS_MIN, 24 * 31, HOUR_MS),
    '25',
    'How long minutes are kept.',
  ),
  TALLY_HOUR_RETENTION_DAYS: setting(
    whole(HOUR_RETENTION_DAYS_MIN, 3660, DAY_MS),
    '32',
    'How long hours are kept.',
  ),
  TALLY_DAY_RETENTION_DAYS: setting(
    whole(HOUR_RETENTION_DAYS_MIN, 3660, DAY_MS),
    '400',
    'How long days are kept, and with them anything at all.',
  ),
  TALLY_MAX_FUTURE_SECONDS: setting(
    whole(0, 3600, SECOND_MS),
    '60',
    'How far ahead of the clock the time of an event may be.',
  ),
  TALLY_MAX_STREAMS: setting(
    whole(1, 100_000),
    '10000',
    'Streams that may have events, settings or lists; beyond it `too_many_streams`.',
  ),
  TALLY_IDEMPOTENCY_TTL_SECONDS: setting(
    whole(1, 7 * 86_400, SECOND_MS),
    '86400',
    'How long an `Idempotency-Key` is remembered, at least.',
  ),
  TALLY_SERVER_ID_TTL_SECONDS: setting(
    whole(1, 86_400, SECOND_MS),
    '600',
    'How long the id of a request without a key is remembered, at least.',
  ),
  TALLY_MAX_REMEMBERED_IDS: setting(
    whole(1, 100_000_000),
    '1000000',
    'Keys and ids remembered in one partition, each kind; beyond it `ids_full`.',
  ),
  TALLY_MAX_BOARDS: setting(
    whole(1, 100_000),
    '10000',
    'Boards that there may be; beyond it `too_many_boards`.',
  ),
  TALLY_INCREMENT_ID_TTL_SECONDS: setting(
    whole(1, 86_400, SECOND_MS),
    '3600',
    'How long the `id` of a single increment is remembered, at least.',
  ),
  TALLY_MAX_PART_IDS: setting(
    whole(1, 100_000_000),
    '5000000',
    'Keys and ids remembered in one part of a board, all together; beyond it `ids_full`.',
  ),
  TALLY_PART_WRITES_PER_SECOND: setting(
    whole(1, 10_000_000),
    '20000',
    'Writes per second that one part of a board takes well; beyond it the board grows.',
  ),
  TALLY_PART_HEADROOM_PERCENT: setting(whole(0, 90, 0.01), '30', 'How much of that stays free.'),
  TALLY_MAX_BACKLOG_BYTES: setting(
    whole(1024, 16_384 * MIB),
    String(256 * MIB),
    'Bytes that may wait to be folded in one partition; beyond it `backlog_full`.',
  ),
  TALLY_MAX_BACKLOG_ENTRIES: setting(
    whole(1, 10_000_000),
    '20000',
    'Log entries that may wait to be folded in one partition; beyond it `backlog_full`.',
  ),
  TALLY_CACHE_BYTES: setting(
    whole(MIB, 16_384 * MIB),
    String(256 * MIB),
    'Memory for decoded summaries.',
  ),
  TALLY_ANSWER_CACHE_BYTES: setting(
    whole(MIB, 4096 * MIB),
    String(32 * MIB),
    'Memory for ready answers.',
  ),
  TALLY_MAX_STALE_SECONDS: setting(
    whole(1, 86_400, SECOND_MS),
    '600',
    'How old an answer may be that is served, marked `stale`, while the store is gone.',
  ),
  TALLY_GRACE_SECONDS: setting(
    whole(1, 300, SECOND_MS),
    '10',
    'How long a stopping server takes to finish what is in flight.',
  ),
  TALLY_LOG_LEVEL: setting(logLevel, 'info', `One of ${LOG_LEVELS.join(', ')}.`),
} satisfies Record<string, Setting<unknown>>;

type SettingName = keyof typeof SETTINGS;
type Values = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads and checks the whole environment.
 *
 * @throws ConfigError with every fault found
 */
export function readConfig(env: Environment = process.env): Config {
  const faults: string[] = [];
  const values = {} as Record<SettingName, unknown>;
  for (const name of Object.keys(SETTINGS) as SettingName[]) {
    const result = SETTINGS[name].schema.safeParse(textOf(env, name));
    if (result.success) values[name] = result.data;
    else faults.push(faultOf(name, result.error));
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith(PREFIX) && !Object.hasOwn(SETTINGS, name)) {
      faults.push(`${name}: there is no such setting`);
    }
  }
  if (faults.length === 0) faults.push(...brokenRelations(values as Values));
  if (faults.length > 0) throw new ConfigError(faults);
  return toConfig(values as Values);
}

/**
 * What the command line needs, and nothing of the server's settings.
 *
 * @throws ConfigError
 */
export function readClientConfig(env: Environment = process.env): { readonly url: string } {
  const result = httpUrl.safeParse(textOf(env, 'TALLY_URL'));
  if (!result.success) throw new ConfigError([faultOf('TALLY_URL', result.error)]);
  return { url: result.data };
}

/** Hides user and password of a Redis address; greedy, since a password may hold an `@`. */
export function redactUrl(url: string): string {
  return url.replace(/:\/\/.*@/, '://***@');
}

/** The configuration as it may be logged: no secret, no password. */
export function redactConfig(config: Config): Record<string, unknown> {
  return {
    ...config,
    redisUrl: config.redisUrl === null ? null : redactUrl(config.redisUrl),
    hashSecret: config.hashSecret === null ? null : '***',
  };
}

function textOf(env: Environment, name: SettingName): string {
  const text = env[name];
  return text === undefined || text === '' ? SETTINGS[name].fallback : text;
}

function faultOf(name: SettingName, error: z.ZodError): string {
  return `${name}: ${error.issues[0]?.message ?? 'is malformed'}`;
}

function brokenRelations(values: Values): string[] {
  const faults: string[] = [];
  const require = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  const hasRedis = values.REDIS_URL !== null;
  require(hasRedis || values.TALLY_ROLE === 'all', 'TALLY_ROLE: other than all needs REDIS_URL');
  require(hasRedis || values.TALLY_ACK_REPLICAS === 0, 'TALLY_ACK_REPLICAS: needs REDIS_URL');
  require(values.TALLY_HOUR_RETENTION_DAYS >=
    values.TALLY_MINUTE_RETENTION_HOURS, 'TALLY_HOUR_RETENTION_DAYS: hours must be kept at least as long as minutes');
  require(values.TALLY_DAY_RETENTION_DAYS >=
    values.TALLY_HOUR_RETENTION_DAYS, 'TALLY_DAY_RETENTION_DAYS: days must be kept at least as long as hours');
  require(values.TALLY_IDEMPOTENCY_TTL_SECONDS >=
    values.TALLY_SERVER_ID_TTL_SECONDS, 'TALLY_IDEMPOTENCY_TTL_SECONDS: must not be less than TALLY_SERVER_ID_TTL_SECONDS');
  require(values.TALLY_MAX_BODY_BYTES_IN_FLIGHT >=
    values.TALLY_MAX_BODY_BYTES, 'TALLY_MAX_BODY_BYTES_IN_FLIGHT: must not be less than TALLY_MAX_BODY_BYTES');
  require(values.TALLY_MAX_BACKLOG_BYTES >=
    values.TALLY_MAX_BODY_BYTES, 'TALLY_MAX_BACKLOG_BYTES: must not be less than TALLY_MAX_BODY_BYTES');
  return faults;
}

function toConfig(values: Values): Config {
  return Object.freeze({
    redisUrl: values.REDIS_URL,
    host: values.TALLY_HOST,
    port: values.TALLY_PORT,
    role: values.TALLY_ROLE,
    ackReplicas: values.TALLY_ACK_REPLICAS,
    ackTimeoutMs: values.TALLY_ACK_TIMEOUT_MS,
    hashSecret: values.TALLY_HASH_SECRET,
    partitions: values.TALLY_PARTITIONS,
    maxEventsPerRequest: values.TALLY_MAX_EVENTS_PER_REQUEST,
    maxBodyBytes: values.TALLY_MAX_BODY_BYTES,
    maxBodyBytesInFlight: values.TALLY_MAX_BODY_BYTES_IN_FLIGHT,
    retention: Object.freeze({
      minute: values.TALLY_MINUTE_RETENTION_HOURS,
      hour: values.TALLY_HOUR_RETENTION_DAYS,
      day: values.TALLY_DAY_RETENTION_DAYS,
    }),
    maxFutureMs: values.TALLY_MAX_FUTURE_SECONDS,
    maxStreams: values.TALLY_MAX_STREAMS,
    idempotencyTtlMs: values.TALLY_IDEMPOTENCY_TTL_SECONDS,
    serverIdTtlMs: values.TALLY_SERVER_ID_TTL_SECONDS,
    maxRememberedIds: values.TALLY_MAX_REMEMBERED_IDS,
    maxBoards: values.TALLY_MAX_BOARDS,
    incrementIdTtlMs: values.TALLY_INCREMENT_ID_TTL_SECONDS,
    maxPartIds: values.TALLY_MAX_PART_IDS,
    partWritesPerSecond: values.TALLY_PART_WRITES_PER_SECOND,
    partHeadroom: values.TALLY_PART_HEADROOM_PERCENT,
    maxBacklogBytes: values.TALLY_MAX_BACKLOG_BYTES,
    maxBacklogEntries: values.TALLY_MAX_BACKLOG_ENTRIES,
    cacheBytes: values.TALLY_CACHE_BYTES,
    answerCacheBytes: values.TALLY_ANSWER_CACHE_BYTES,
    maxStaleMs: values.TALLY_MAX_STALE_SECONDS,
    graceMs: values.TALLY_GRACE_SECONDS,
    logLevel: values.TALLY_LOG_LEVEL,
  });
}

function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === '::1' || host === 'localhost';
}
