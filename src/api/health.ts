/** Whether this process should get requests, and what an operator should look at. */
import type { Clock } from '../lib/clock.ts';
import { StoreUnavailableError } from '../lib/store-errors.ts';
import { LAGGING_MS } from '../streams/limits.ts';
import type { PartitionStats, StreamStore } from '../streams/store-port.ts';

/** Probes and scrapes within this time share one look at the store. */
const LOOK_SHARED_MS = 250;
const LOOK_TIMEOUT_MS = 1500;

export interface Health {
  /** Empty: ready. */
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
}

export class HealthMonitor {
  readonly #store: StreamStore;
  readonly #clock: Clock;
  #isStopping = false;
  #look: { readonly atMs: number; readonly stats: Promise<PartitionStats[] | null> } | null = null;

  constructor(store: StreamStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** From now on not ready, for good. */
  stop(): void {
    this.#isStopping = true;
  }

  async check(): Promise<Health> {
    if (this.#isStopping) return { reasons: ['shutting down'], warnings: [] };
    const stats = await this.stats();
    if (stats === null) return { reasons: ['the store cannot be reached'], warnings: [] };
    const nowMs = this.#clock.nowMs();
    return {
      reasons: [],
      warnings: stats.flatMap((state, partition) => warningsOf(state, partition, nowMs)),
    };
  }

  /** One for each partition; null while the store cannot be read. */
  stats(): Promise<PartitionStats[] | null> {
    const nowMs = this.#clock.nowMs();
    const isRecent = this.#look !== null && Math.abs(nowMs - this.#look.atMs) < LOOK_SHARED_MS;
    if (this.#look === null || !isRecent) {
      this.#look = { atMs: nowMs, stats: this.#readStats() };
    }
    return this.#look.stats;
  }

  /** A store that may still come back after a long while counts as gone for a probe. */
  async #readStats(): Promise<PartitionStats[] | null> {
    const answered = new AbortController();
    const partitions = Array.from({ length: this.#store.partitionCount }, (_, index) => index);
    const stats = Promise.all(partitions.map((partition) => this.#store.readStats(partition)));
    const tooLate = this.#clock.sleep(LOOK_TIMEOUT_MS, answered.signal).then(() => null);
    try {
      return await Promise.race([stats, tooLate]);
    } catch (error) {
      if (error instanceof StoreUnavailableError) return null;
      throw error;
    } finally {
      answered.abort();
      stats.catch(() => undefined);
    }
  }
}

function warningsOf(state: PartitionStats, partition: number, nowMs: number): string[] {
  const warnings: string[] = [];
  const lagMs = state.oldestWaitingMs === null ? 0 : nowMs - state.oldestWaitingMs;
  if (lagMs > LAGGING_MS) {
    warnings.push(`partition ${partition} lags ${Math.round(lagMs / 1000)} s behind`);
  }
  if (state.damagedEntries > 0) {
    warnings.push(`partition ${partition} has ${state.damagedEntries} damaged entries`);
  }
  return warnings;
}
