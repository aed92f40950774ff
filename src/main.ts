/**
 * The composition root: from a configuration to a running server, and back in the reverse order.
 * The only file that sees every room.
 */
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Logger, pino } from 'pino';
import { apiApp, type ProcessParts, workerApp } from './api/app.ts';
import { HealthMonitor } from './api/health.ts';
import { type HttpServer, listen } from './api/http-server.ts';
import { ApiMetrics } from './api/metrics.ts';
import { type BoardsRoom, openBoardsRoom } from './boards/boards-room.ts';
import type { BoardStore } from './boards/store-port.ts';
import { type Config, ConfigError, readConfig, redactConfig } from './config.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import type { DocumentStore } from './lib/document-store.ts';
import { Prng } from './lib/prng.ts';
import { cryptoTags, type TagSource } from './lib/random-tag.ts';
import { StoreUnavailableError } from './lib/store-errors.ts';
import type { RateStore } from './shards/rate-port.ts';
import { hashKeyFromBytes, KeyedHash } from './sketches/hash.ts';
import { MemoryBoardStore } from './store/memory/memory-board-store.ts';
import { MemoryDocumentStore } from './store/memory/memory-document-store.ts';
import { MemoryRateStore } from './store/memory/memory-rate-store.ts';
import { MemoryStreamStore } from './store/memory/memory-stream-store.ts';
import { connectForBull, connectRedis } from './store/redis/connection.ts';
import { claimDeployment } from './store/redis/deployment.ts';
import { documentKeys } from './store/redis/keys.ts';
import { RedisRefusedError } from './store/redis/redis-refused-error.ts';
import { RedisBoardStore } from './store/redis/redis-board-store.ts';
import { RedisDocumentStore } from './store/redis/redis-document-store.ts';
import { RedisRateStore } from './store/redis/redis-rate-store.ts';
import { RedisStreamStore } from './store/redis/redis-stream-store.ts';
import { describeTarget, parseRedisUrl } from './store/redis/redis-url.ts';
import { COARSEST_LEVEL } from './streams/buckets.ts';
import type { StreamStore } from './streams/store-port.ts';
import { openStreamsRoom } from './streams/streams-room.ts';
import { scheduleBoardJobs } from './workers/board-jobs.ts';
import { BullScheduler } from './workers/bull-scheduler.ts';
import { InProcessScheduler } from './workers/in-process-scheduler.ts';
import type { JobObserver, Scheduler } from './workers/scheduler.ts';
import { scheduleStreamJobs } from './workers/stream-jobs.ts';

/** A terminal's Ctrl-C reaches this process directly and once more through npm: one wish. */
const SAME_SIGNAL_MS = 500;
const EXIT_FAILED = 1;
/** How often a process tells the others which boards are hot in it. */
const RATES_INTERVAL_MS = 5_000;

export interface TallyParts {
  readonly clock: Clock;
  readonly tags: TagSource;
  readonly logger: Logger;
  /** In place of the store that the configuration names; whoever passes it also closes it. */
  readonly store: StreamStore;
  /** The registry's, beside `store`. Default: one in this process's memory. */
  readonly registryStore: DocumentStore;
}

export interface RunningTally {
  readonly url: string;
  /** For people: which store, and what it means for their data. */
  readonly storeNotes: readonly string[];
  /** Finishes what is in flight and leaves, within the configured grace time. */
  close(): Promise<void>;
}

/** What the boards room keeps its things in. */
interface BoardStores {
  readonly boardStore: BoardStore;
  readonly boardDocuments: DocumentStore;
  readonly rates: RateStore;
}

interface OpenStore extends BoardStores {
  readonly store: StreamStore;
  readonly registryStore: DocumentStore;
  readonly hashSecret: string;
  /** Of each partition in Redis; null for a store in this process. */
  readonly partitionTags: readonly string[] | null;
  readonly notes: readonly string[];
  close(): void;
}

/**
 * Starts what the configuration says. Rejects with RedisRefusedError, StoreUnavailableError or the
 * error of `listen`; nothing is left running then.
 */
export async function startTally(
  config: Config,
  parts: Partial<TallyParts> = {},
): Promise<RunningTally> {
  const { clock = systemClock, tags = cryptoTags } = parts;
  const logger = parts.logger ?? openLogger(config);
  const metrics = new ApiMetrics();
  const opened = await openStore(config, { ...parts, clock, tags, logger });
  const { store } = opened;
  const health = new HealthMonitor(store, clock);
  metrics.watchStore(() => health.stats(), clock);
  const common: ProcessParts = { clock, tags, logger, metrics, health };
  const hash = new KeyedHash(hashKeyFromBytes(Buffer.from(opened.hashSecret, 'hex')));
  const room = streamsRoom(config, common, opened, hash);
  const boardsRoom = openBoards(config, common, opened, hash);
  let server: HttpServer | null = null;
  const schedulers: Scheduler[] = [];
  const close = async (): Promise<void> => {
    const deadlineMs = clock.nowMs() + config.graceMs;
    health.stop();
    await server?.stop(config.graceMs);
    await untilDeadline(room.ingest.drain(), deadlineMs, clock);
    const closed = Promise.all(schedulers.map((scheduler) => scheduler.close()));
    await untilDeadline(closed, deadlineMs, clock);
    opened.close();
  };
  try {
    const { boards } = boardsRoom;
    const app =
      config.role === 'worker' ? workerApp(common) : apiApp({ ...common, ...room, boards });
    server = await listen(app, config.host, config.port, clock);
    if (config.role !== 'worker') {
      const reporter = new InProcessScheduler(clock, jobObserver(common));
      schedulers.push(reporter);
      await reporter.every('board-rates', RATES_INTERVAL_MS, () => boardsRoom.growth.report());
    }
    if (config.role !== 'api') {
      const shared = openSchedulers(config, common, opened);
      schedulers.push(...shared);
      const onFold = (entries: number, aside: number): void => metrics.countFolded(entries, aside);
      await scheduleStreamJobs({ ...room, schedulers: shared, onFold });
      await scheduleBoardJobs({ ...boardsRoom, scheduler: shared[0]! });
    }
  } catch (error) {
    await close();
    throw error;
  }
  let closing: Promise<void> | null = null;
  return {
    url: server.url,
    storeNotes: opened.notes,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/**
 * Runs until a signal asks for the end, as a process of its own; returns its exit code. The first
 * lines on the output are for people, the log follows.
 */
export async function runTally(): Promise<number> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    complain(error.faults);
    return EXIT_FAILED;
  }
  const logger = openLogger(config);
  const stopped = stopSignal(systemClock);
  try {
    const tally = await startTally(config, { logger });
    process.stdout.write(`${introduction(config, tally).join('\n')}\n`);
    logger.info({ config: redactConfig(config) }, 'started');
    const signal = await stopped;
    logger.info({ signal }, 'stopping');
    await tally.close();
    logger.info('stopped');
    return 0;
  } catch (error) {
    const reason = startFailure(error, config);
    if (reason === null) throw error;
    complain([reason]);
    return EXIT_FAILED;
  }
}

/** Written at once and in order: the last lines before an end are the ones that will be read. */
function openLogger({ logLevel }: Config): Logger {
  return pino({ level: logLevel }, pino.destination({ dest: 1, sync: true }));
}

async function openStore(
  config: Config,
  parts: Pick<TallyParts, 'clock' | 'tags' | 'logger'> & Partial<TallyParts>,
): Promise<OpenStore> {
  if (parts.store !== undefined) {
    const hashSecret = config.hashSecret ?? parts.tags();
    const { store, registryStore = new MemoryDocumentStore(parts.tags) } = parts;
    return {
      ...{ store, registryStore, hashSecret, partitionTags: null, notes: [] },
      ...memoryBoardStores(config, parts),
      close: () => {},
    };
  }
  return config.redisUrl === null
    ? openMemoryStore(config, parts)
    : openRedisStore(config, config.redisUrl, parts);
}

function openMemoryStore(
  config: Config,
  { clock, tags }: Omit<TallyParts, 'store' | 'registryStore'>,
): OpenStore {
  const partitionCount = config.partitions ?? 1;
  const store = new MemoryStreamStore({ clock, tags, partitionCount, ...storeLimits(config) });
  return {
    store,
    registryStore: new MemoryDocumentStore(tags),
    ...memoryBoardStores(config, { clock, tags }),
    hashSecret: config.hashSecret ?? tags(),
    partitionTags: null,
    notes: [
      'Store: embedded, in the memory of this process. Nothing survives a restart.',
      'To keep the data, set REDIS_URL, for example REDIS_URL=redis://127.0.0.1:6379',
    ],
    close: () => {},
  };
}

async function openRedisStore(
  config: Config,
  url: string,
  { clock, tags, logger }: Omit<TallyParts, 'store' | 'registryStore'>,
): Promise<OpenStore> {
  const { ackReplicas, ackTimeoutMs, partitions, hashSecret, retention } = config;
  const ack = ackReplicas === 0 ? null : { replicas: ackReplicas, timeoutMs: ackTimeoutMs };
  const connection = await connectRedis(url, {
    clock,
    ackTimeoutMs: ack === null ? 0 : ackTimeoutMs,
    onError: (error) => logger.warn({ reason: error.message }, 'connection to Redis'),
  });
  try {
    const deployment = await claimDeployment(connection, { partitions, hashSecret, ack });
    const { partitionTags } = deployment;
    const settings = {
      ...storeLimits(config),
      partitionTags,
      longestRetentionMs: retention[COARSEST_LEVEL],
      ack,
    };
    return {
      store: new RedisStreamStore(connection, settings, tags),
      registryStore: new RedisDocumentStore(connection, documentKeys('registry'), ack, tags),
      boardStore: new RedisBoardStore(connection, { ...boardLimits(config), ack }, tags),
      boardDocuments: new RedisDocumentStore(connection, documentKeys('boards'), ack, tags),
      rates: new RedisRateStore(connection),
      hashSecret: deployment.hashSecret,
      partitionTags,
      notes: [
        `Store: Redis at ${describeTarget(parseRedisUrl(url))}, ` +
          `${partitionTags.length} ${partitionTags.length === 1 ? 'partition' : 'partitions'}.`,
      ],
      close: () => connection.close(),
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function storeLimits(config: Config) {
  return {
    maxBacklogBytes: config.maxBacklogBytes,
    maxBacklogEntries: config.maxBacklogEntries,
    clientIdTtlMs: config.idempotencyTtlMs,
    serverIdTtlMs: config.serverIdTtlMs,
    maxRememberedIds: config.maxRememberedIds,
  };
}

function memoryBoardStores(
  config: Config,
  { clock, tags }: Pick<TallyParts, 'clock' | 'tags'>,
): BoardStores {
  return {
    boardStore: new MemoryBoardStore({ ...boardLimits(config), clock, tags }),
    boardDocuments: new MemoryDocumentStore(tags),
    rates: new MemoryRateStore(),
  };
}

function boardLimits(config: Config) {
  return {
    keyTtlMs: config.idempotencyTtlMs,
    idTtlMs: config.incrementIdTtlMs,
    callTtlMs: config.serverIdTtlMs,
    maxRememberedIds: config.maxPartIds,
  };
}

function openBoards(
  config: Config,
  { clock, tags }: ProcessParts,
  { boardStore, boardDocuments, rates }: OpenStore,
  hash: KeyedHash,
): BoardsRoom {
  const { keyTtlMs, idTtlMs } = boardLimits(config);
  return openBoardsRoom({
    ...{ store: boardStore, documents: boardDocuments, rates, clock, tags, hash },
    ...{ maxBoards: config.maxBoards, keyTtlMs, idTtlMs },
    ...{ partRatePerSecond: config.partWritesPerSecond, headroom: config.partHeadroom },
  });
}

function streamsRoom(
  config: Config,
  { clock, tags }: ProcessParts,
  { store, registryStore }: OpenStore,
  hash: KeyedHash,
) {
  const { retention, maxFutureMs, maxStreams, cacheBytes } = config;
  const room = openStreamsRoom({
    ...{ store, registryStore, clock, tags, hash },
    ...{ retention, maxFutureMs, maxStreams, cacheBytes },
  });
  return {
    ...room,
    config,
    prng: new Prng(Number.parseInt(tags().slice(0, 8), 16)),
    summaryCacheBytes: () => room.reader.cachedBytes,
  };
}

/**
 * One scheduler a partition, each with its queue in the partition's own slot: while a primary is
 * down only its own partitions wait.
 */
function openSchedulers(
  { redisUrl }: Config,
  parts: ProcessParts,
  { store, partitionTags }: OpenStore,
): Scheduler[] {
  const { clock, logger } = parts;
  const observer = jobObserver(parts);
  if (redisUrl === null || partitionTags === null) {
    const { partitionCount } = store;
    return Array.from({ length: partitionCount }, () => new InProcessScheduler(clock, observer));
  }
  return partitionTags.map(
    (slotTag) =>
      new BullScheduler({
        slotTag,
        connect: () => connectForBull(redisUrl),
        clock,
        observer,
        onError: (error) => logger.warn({ reason: error.message }, 'connection of the job queue'),
      }),
  );
}

function jobObserver({ logger, metrics }: ProcessParts): JobObserver {
  return {
    done: (job, durationMs) => metrics.countJob(job, 'done', durationMs),
    failed: (job, durationMs, error) => {
      metrics.countJob(job, 'failed', durationMs);
      if (error instanceof StoreUnavailableError) logger.warn({ job }, 'the store is unavailable');
      else logger.error({ job, err: error }, 'a job failed');
    },
  };
}

/** What a dead store keeps waiting is given up at the deadline: the process has to leave. */
async function untilDeadline(
  work: Promise<unknown>,
  deadlineMs: number,
  clock: Clock,
): Promise<void> {
  const finished = new AbortController();
  const remainingMs = Math.max(deadlineMs - clock.nowMs(), 0);
  await Promise.race([work, clock.sleep(remainingMs, finished.signal)]);
  finished.abort();
}

function introduction(config: Config, { url, storeNotes }: RunningTally): string[] {
  const roles = {
    all: 'API and worker in this process',
    api: 'API; the workers run elsewhere',
    worker: 'worker: health and metrics only',
  };
  return [`Tally listens on ${url} (${roles[config.role]}).`, ...storeNotes];
}

/** Null for what is no failure of the surroundings but of this program. */
function startFailure(error: unknown, { host, port }: Config): string | null {
  if (error instanceof RedisRefusedError || error instanceof StoreUnavailableError) {
    return error.message;
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    return `${host}:${port} is taken, perhaps by another Tally: end that, or set TALLY_PORT`;
  }
  if (code === 'EACCES') return `${host}:${port} may not be used: set TALLY_PORT to 1024 or more`;
  return code === 'EADDRNOTAVAIL' ? `${host} is no address of this machine: set TALLY_HOST` : null;
}

function complain(reasons: readonly string[]): void {
  for (const reason of reasons) process.stderr.write(`tally: ${reason}\n`);
}

/** Resolves at the first signal; a second one ends the process at once. */
function stopSignal(clock: Clock): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const onSignal = (signal: NodeJS.Signals): void => {
      const nowMs = clock.nowMs();
      if (firstMs !== null && nowMs - firstMs >= SAME_SIGNAL_MS) process.exit(EXIT_FAILED);
      firstMs ??= nowMs;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

function isEntry(): boolean {
  const [, script] = process.argv;
  if (script === undefined || !existsSync(script)) return false;
  return realpathSync(script) === fileURLToPath(import.meta.url);
}

if (isEntry()) process.exit(await runTally());
