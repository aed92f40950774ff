/**
 * Which connection answers for a slot. ioredis keeps the sockets and the map of slots; sending
 * again is left to `SlotClient`, which alone knows what may be repeated. So every automatism of
 * ioredis that queues or resends is off.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { SLOT_COUNT } from './hash-slot.ts';
import { hostText, type RedisTarget } from './redis-url.ts';

export interface NodeRouter {
  /** The connection for this slot if it is ready now; else it is being made: ask again. */
  nodeFor(slot: number): Redis | null;
  /** Address of the primary that owns the slot, or null while nobody is known to. */
  ownerOf(slot: number): string | null;
  /** Each primary once, in the order of its first slot. */
  primaries(): Primary[];
  /** Learns the map of slots anew, in the background; a call while one runs does nothing. */
  refresh(): void;
  close(): void;
}

export interface Primary {
  /** `host:port`; for Sentinel the name of the master. */
  readonly address: string;
  readonly firstSlot: number;
}

export interface RouterOptions {
  /** A connection that owes a reply and is silent for this long is cut. */
  readonly silenceTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

const RECONNECT_STEP_MS = 50;
const RECONNECT_PAUSE_MAX_MS = 500;
const SLOT_REFRESH_TIMEOUT_MS = 1_000;

export function openRouter(target: RedisTarget, options: RouterOptions): NodeRouter {
  return target.kind === 'cluster'
    ? new ClusterRouter(target, options)
    : new SingleRouter(target, options);
}

class SingleRouter implements NodeRouter {
  readonly #client: Redis;
  readonly #address: string;

  constructor(target: Exclude<RedisTarget, { kind: 'cluster' }>, options: RouterOptions) {
    this.#client = new Redis({
      ...baseOptions(target, options),
      ...(target.kind === 'single'
        ? { host: target.node.host, port: target.node.port, ...(target.tls ? { tls: {} } : {}) }
        : { sentinels: [...target.sentinels], name: target.primaryName }),
      enableOfflineQueue: false,
      retryStrategy: reconnectPauseMs,
      // A primary that became a replica says READONLY: connect again, to the new primary.
      reconnectOnError: (error) => error.message.startsWith('READONLY'),
    });
    this.#client.on('error', options.onError);
    this.#address = target.kind === 'single' ? hostText(target.node) : target.primaryName;
  }

  nodeFor(): Redis | null {
    return this.#client.status === 'ready' ? this.#client : null;
  }

  ownerOf(): string {
    return this.#address;
  }

  primaries(): Primary[] {
    return [{ address: this.#address, firstSlot: 0 }];
  }

  /** Nothing to learn: the client reconnects by itself, through the sentinels if there are any. */
  refresh(): void {}

  close(): void {
    this.#client.disconnect();
  }
}

class ClusterRouter implements NodeRouter {
  readonly #cluster: Cluster;

  constructor(target: Extract<RedisTarget, { kind: 'cluster' }>, options: RouterOptions) {
    this.#cluster = new Cluster([...target.nodes], {
      redisOptions: baseOptions(target, options),
      clusterRetryStrategy: reconnectPauseMs,
      slotsRefreshTimeout: SLOT_REFRESH_TIMEOUT_MS,
    });
    this.#cluster.on('error', options.onError);
    this.#cluster.on('node error', options.onError);
  }

  nodeFor(slot: number): Redis | null {
    const owner = this.ownerOf(slot);
    const node = this.#cluster.nodes('all').find((candidate) => addressOf(candidate) === owner);
    if (node?.status === 'wait') {
      // Its failure is reported by the cluster's 'node error'.
      node.connect().catch(() => undefined);
    }
    return node?.status === 'ready' ? node : null;
  }

  ownerOf(slot: number): string | null {
    return this.#cluster.slots[slot]?.[0] ?? null;
  }

  primaries(): Primary[] {
    const firstSlots = new Map<string, number>();
    for (let slot = 0; slot < SLOT_COUNT; slot++) {
      const owner = this.ownerOf(slot);
      if (owner !== null && !firstSlots.has(owner)) {
        firstSlots.set(owner, slot);
      }
    }
    return [...firstSlots].map(([address, firstSlot]) => ({ address, firstSlot }));
  }

  refresh(): void {
    if (this.#cluster.status === 'ready') {
      this.#cluster.refreshSlotsCache();
    }
  }

  close(): void {
    this.#cluster.disconnect();
  }
}

function baseOptions(
  target: RedisTarget,
  options: RouterOptions,
): Omit<RedisOptions, 'replyMapping'> {
  return {
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    connectTimeout: options.connectTimeoutMs,
    socketTimeout: options.silenceTimeoutMs,
    // What was in flight when a connection broke is rejected at once, never sent again unseen.
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
  };
}

function reconnectPauseMs(attempt: number): number {
  return Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_PAUSE_MAX_MS);
}

function addressOf(node: Redis): string {
  return `${node.options.host}:${node.options.port}`;
}
