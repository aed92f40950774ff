import fc from 'fast-check';
import { expect } from 'vitest';
import { newSettings } from '../../src/boards/settings.ts';
import { boardCommands } from './commands.ts';
import { BoardModel } from './model.ts';
import { inParallel } from './parallel.ts';
import type { RealBoard } from './real-board.ts';
import { checkAll, checkDescription } from './reads.ts';

/**
 * A run is repeated by what fast-check prints: TALLY_BOARDS_SEED=<seed> TALLY_BOARDS_RUNS=100. By
 * default there are as many runs as it takes for so many commands.
 */
const SEED = process.env['TALLY_BOARDS_SEED'];
const RUNS = process.env['TALLY_BOARDS_RUNS'];
const RUNS_AT_ONCE = 20;
export const MODEL_TIME_LIMIT_MS = 600_000;

export interface ModelRuns {
  readonly commandsMin: number;
  /** In one run. */
  readonly maxCommands: number;
  readonly counts: { commands: number };
  readonly open: () => Promise<RealBoard>;
  /** Whether a view of hours can be had without crossing one. */
  readonly hasHours: () => boolean;
}

/** Commands to boards with all kinds of settings; each run is of one board. */
export async function runModel(model: ModelRuns): Promise<void> {
  const { commandsMin, counts } = model;
  const seed = SEED === undefined ? {} : { seed: Number(SEED) };
  const property = propertyOf(model);
  do {
    await fc.assert(property, { numRuns: Number(RUNS ?? RUNS_AT_ONCE), ...seed });
  } while (RUNS === undefined && counts.commands < commandsMin);
  if (RUNS === undefined) expect(counts.commands).toBeGreaterThanOrEqual(commandsMin);
}

function propertyOf({ maxCommands, open, hasHours }: ModelRuns) {
  const settings = fc.record({
    mode: fc.constantFrom('increment' as const, 'best' as const, 'last' as const),
    order: fc.constantFrom('descending' as const, 'ascending' as const),
    ties: fc.constantFrom('earliest' as const, 'competition' as const, 'dense' as const),
    decimals: fc.constantFrom(0, 2),
    views: fc.constantFrom([], [{ name: 'hourly', cron: null }]),
    keepSeasons: fc.nat(3),
  });
  const all = [...boardCommands, inParallel];
  const commands = fc.commands(all, { maxCommands, size: 'max' });
  return fc.asyncProperty(settings, commands, async (input, chosen) => {
    const real = await open();
    const views = hasHours() ? input.views : [];
    const model = new BoardModel(newSettings({ ...input, views }), real.clock.nowMs());
    await real.rooms[0].boards.put(real.name, model.settings);
    await checkDescription(model, real);
    await fc.asyncModelRun(() => ({ model, real }), chosen);
    await checkAll(model, real);
    await real.rooms[0].boards.remove(real.name);
  });
}
