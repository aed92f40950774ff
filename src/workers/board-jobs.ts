/** The background work of the boards room. */
import type { BoardGrowth } from '../boards/board-growth.ts';
import type { BoardUpkeep } from '../boards/board-upkeep.ts';
import type { Scheduler } from './scheduler.ts';

const UPKEEP_INTERVAL_MS = 1_000;
const GROWTH_INTERVAL_MS = 5_000;

export interface BoardJobsOptions {
  readonly scheduler: Scheduler;
  readonly upkeep: BoardUpkeep;
  readonly growth: BoardGrowth;
}

export async function scheduleBoardJobs(options: BoardJobsOptions): Promise<void> {
  const { scheduler, upkeep, growth } = options;
  await scheduler.every('boards', UPKEEP_INTERVAL_MS, () => upkeep.run());
  await scheduler.every('board-growth', GROWTH_INTERVAL_MS, () => growth.grow());
}
