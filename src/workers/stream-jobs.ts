/**
 * The background work of the streams room: fold, then compact, twice a second per partition; once
 * an hour the upkeep of the registry.
 */
import { HOUR_MS } from '../streams/buckets.ts';
import type { Compactor } from '../streams/compact.ts';
import type { Folder } from '../streams/fold.ts';
import type { RegistryUpkeep } from '../streams/registry-upkeep.ts';
import type { Scheduler } from './scheduler.ts';

/** With answers cached for a second at most, an event is visible within two of its 202. */
const FOLD_INTERVAL_MS = 500;
/** A run ends after so many steps: a backlog must not keep a partition from its compaction. */
const FOLD_STEPS_MAX = 64;

export interface StreamJobsOptions {
  /** One for each partition: what stops one of them does not stop the others. */
  readonly schedulers: readonly Scheduler[];
  readonly folder: Folder;
  readonly compactor: Compactor;
  readonly upkeep: RegistryUpkeep;
  /** Told how many log entries a step folded and how many it set aside. */
  readonly onFold: (entryCount: number, asideCount: number) => void;
}

export async function scheduleStreamJobs(options: StreamJobsOptions): Promise<void> {
  const { schedulers, compactor, upkeep } = options;
  const starts = schedulers.map((scheduler, partition) =>
    scheduler.every(`fold-${partition}`, FOLD_INTERVAL_MS, async () => {
      await foldAll(options, partition);
      await compactor.compactPartition(partition);
    }),
  );
  // Whichever partition's scheduler: the first one is always there.
  const upkeepStart = schedulers[0]?.every('registry', HOUR_MS, () => upkeep.run());
  await Promise.all([...starts, upkeepStart]);
}

async function foldAll({ folder, onFold }: StreamJobsOptions, partition: number): Promise<void> {
  for (let step = 0; step < FOLD_STEPS_MAX; step += 1) {
    const { entryCount, asideCount, more } = await folder.foldPartition(partition);
    onFold(entryCount, asideCount);
    if (!more) return;
  }
}
