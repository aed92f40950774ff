import { describe, expect, it } from 'vitest';
import type { Canary } from './faulty-store.ts';
import {
  CRASHES_MIN,
  EVENTS_MIN,
  RETRIES_MIN,
  type SimulationReport,
  simulate,
} from './stream-simulation.ts';

/** A run is repeated by its seed: TALLY_SIMULATION_SEED=<seed> TALLY_SIMULATION_RUNS=1. */
const FIRST_SEED = Number(process.env['TALLY_SIMULATION_SEED'] ?? 1);
const RUNS = Number(process.env['TALLY_SIMULATION_RUNS'] ?? 2_000);
const TIME_LIMIT_MS = 600_000;

describe('the streams room under faults', () => {
  it(
    `neither loses nor doubles what was acknowledged, over ${RUNS} seeds`,
    async () => {
      console.log(`simulation: seeds ${FIRST_SEED} to ${FIRST_SEED + RUNS - 1}`);
      const reports: SimulationReport[] = [];
      for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed += 1) {
        const report = await simulate(seed);
        expect(report.violation, `seed ${seed}`).toBeNull();
        expect(report.events, `seed ${seed}`).toBeGreaterThanOrEqual(EVENTS_MIN);
        expect(report.crashes, `seed ${seed}`).toBeGreaterThanOrEqual(CRASHES_MIN);
        expect(report.retries, `seed ${seed}`).toBeGreaterThanOrEqual(RETRIES_MIN);
        reports.push(report);
      }
      console.log(`simulation: ${JSON.stringify(sumOf(reports))}`);
    },
    TIME_LIMIT_MS,
  );

  it.each<Canary>(['fold_without_tag_check', 'compaction_without_presence_check'])(
    'notices a %s',
    async (canary) => {
      const caught = await firstCaught(canary);
      console.log(`simulation: ${canary} is caught by seed ${caught.seed}: ${caught.violation}`);
      expect(caught.violation).not.toBeNull();
    },
    TIME_LIMIT_MS,
  );

  it('takes the same way again from the same seed', async () => {
    expect(await simulate(FIRST_SEED)).toEqual(await simulate(FIRST_SEED));
  });
});

async function firstCaught(canary: Canary): Promise<{ seed: number; violation: string | null }> {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + 2_000; seed += 1) {
    const { violation } = await simulate(seed, { canary, isFocused: true });
    if (violation !== null) return { seed, violation };
  }
  return { seed: -1, violation: null };
}

function sumOf(reports: readonly SimulationReport[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { violation: _, ...numbers } of reports) {
    for (const [name, value] of Object.entries(numbers)) sums[name] = (sums[name] ?? 0) + value;
  }
  return sums;
}
