import { Cluster, Redis } from 'ioredis';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { StoreUnavailableError } from '../../lib/store-errors.ts';
import { type NodeRouter, openRouter, type Primary } from './node-router.ts';
import { describeTarget, parseRedisUrl } from './redis-url.ts';
import { checkPrimary } from './server-checks.ts';
import { SlotClient } from './slot-client.ts';

export interface ConnectionOptions {
  readonly clock?: Clock | undefined;
  /**
   * How long a call is tried again before it is rejected. Default 2 s; on a cluster 20 s for
   * writes, which have to outlast a failover (cluster-node-timeout, 15 s by default, and the
   * election), else each failover makes them fail. A read need not: an answer without one
   * partition, which says so, is worth more than one that comes after the failover.
   */
  readonly retryForMs?: number | undefined;
  /** A connection that owes a reply and is silent for this long is cut. Default 1.5 s. */
  readonly silenceTimeoutMs?: number | undefined;
  /** The longest WAIT that will be sent: writes may be silent for that much longer. Default 0. */
  readonly ackTimeoutMs?: number | undefined;
  /** Told of every broken or refused connection; what a call meets it also rejects with. */
  readonly onError?: ((error: Error) => void) | undefined;
}

/**
 * Connections to one Redis deployment. Reads and writes have connections of their own: a write
 * that waits for replicas must not hold reads up.
 */
export interface RedisConnection {
  readonly isCluster: boolean;
  readonly reads: SlotClient;
  readonly writes: SlotClient;
  /** Each primary once, in the order of its first slot. */
  primaries(): Primary[];
  /** Address of the primary that owns the slot, or null while nobody is known to. */
  ownerOf(slot: number): string | null;
  close(): void;
}

const RETRY_FOR_MS = 2_000;
const CLUSTER_RETRY_FOR_MS = 20_000;
const SILENCE_TIMEOUT_MS = 1_500;
const CONNECT_TIMEOUT_MS = 1_000;
const CONNECT_POLL_MS = 10;

/**
 * Connects and checks every primary. Rejects with RedisRefusedError (malformed URL, too old, set
 * to evict, not a primary) or StoreUnavailableError (not reached within `retryForMs`).
 */
export async function connectRedis(
  url: string,
  options: ConnectionOptions = {},
): Promise<RedisConnection> {
  const { clock = systemClock, silenceTimeoutMs = SILENCE_TIMEOUT_MS, ackTimeoutMs = 0 } = options;
  const target = parseRedisUrl(url);
  const isCluster = target.kind === 'cluster';
  const readRetryForMs = options.retryForMs ?? RETRY_FOR_MS;
  const retryForMs = options.retryForMs ?? (isCluster ? CLUSTER_RETRY_FOR_MS : RETRY_FOR_MS);
  let lastError: Error | undefined;
  const onError = (error: Error): void => {
    lastError = error;
    options.onError?.(error);
  };
  const open = (routerSilenceMs: number): NodeRouter =>
    openRouter(target, {
      silenceTimeoutMs: routerSilenceMs,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      onError,
    });
  const readRouter = open(silenceTimeoutMs);
  const writeRouter = open(silenceTimeoutMs + ackTimeoutMs);
  const connection: RedisConnection = {
    isCluster,
    reads: new SlotClient(readRouter, clock, readRetryForMs),
    writes: new SlotClient(writeRouter, clock, retryForMs),
    primaries: () => readRouter.primaries(),
    ownerOf: (slot) => readRouter.ownerOf(slot),
    close: () => {
      connection.reads.close();
      connection.writes.close();
    },
  };
  try {
    const isReady = await waitUntil(clock, retryForMs, () =>
      [readRouter, writeRouter].every(reachesEveryPrimary),
    );
    if (!isReady) {
      const reason = lastError === undefined ? '' : `: ${lastError.message}`;
      throw new StoreUnavailableError(`cannot reach Redis at ${describeTarget(target)}${reason}`);
    }
    await checkPrimaries(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * A connection for BullMQ, which needs one of its own: it blocks on it, and must be able to wait
 * for Redis for ever. BullMQ does not close what it is given; the caller does.
 */
export function connectForBull(url: string): Redis | Cluster {
  const target = parseRedisUrl(url);
  const credentials = {
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
  };
  const redisOptions = { ...credentials, maxRetriesPerRequest: null };
  switch (target.kind) {
    case 'single':
      return new Redis({ ...target.node, ...(target.tls ? { tls: {} } : {}), ...redisOptions });
    case 'sentinel':
      return new Redis({
        sentinels: [...target.sentinels],
        name: target.primaryName,
        ...redisOptions,
      });
    case 'cluster':
      // A ready check that fails, as in a failover, leaves a connect() that never settles: BullMQ
      // waits for it, and its worker stands still. Without one, commands fail and are repeated.
      return new Cluster([...target.nodes], { redisOptions, enableReadyCheck: false });
  }
}

/** Asks for a connection to each primary, which also starts those that are not there yet. */
function reachesEveryPrimary(router: NodeRouter): boolean {
  const primaries = router.primaries();
  const ready = primaries.filter(({ firstSlot }) => router.nodeFor(firstSlot) !== null);
  return primaries.length > 0 && ready.length === primaries.length;
}

async function checkPrimaries(connection: RedisConnection): Promise<void> {
  for (const { address, firstSlot } of connection.primaries()) {
    const info = await connection.reads.send(firstSlot, (node) => node.info());
    checkPrimary(address, info, connection.isCluster);
  }
}

async function waitUntil(clock: Clock, forMs: number, holds: () => boolean): Promise<boolean> {
  const deadlineMs = clock.nowMs() + forMs;
  while (!holds()) {
    if (clock.nowMs() > deadlineMs) {
      return false;
    }
    await clock.sleep(CONNECT_POLL_MS);
  }
  return true;
}
