import { expect, test } from 'vitest';
import {
  CRASHES_MIN,
  EVENTS_MIN,
  RETRIES_MIN,
  type SimulationReport,
  simulate,
} from './stream-simulation.ts';

/** A run is repeated by its seed: TALLY_SIMULATION_SEED=<seed> TALLY_SIMULATION_RUNS=1. */
export const FIRST_SEED = Number(process.env['TALLY_SIMULATION_SEED'] ?? 1);
const RUNS = process.env['TALLY_SIMULATION_RUNS'];
const STREAM_RUNS = 800;
/** Each share of the seeds is a test file of its own, so that all cores take part. */
const SHARES = 4;
export const TIME_LIMIT_MS = 600_000;

/** Every so many-th seed, beginning with the share's own; `usualRuns` without the variable. */
export function seedsOf(share: number, shares: number, usualRuns: number): number[] {
  const runs = RUNS === undefined ? usualRuns : Number(RUNS);
  return Array.from({ length: runs }, (_, run) => FIRST_SEED + run).filter(
    (_, run) => run % shares === share,
  );
}

/** Runs a share of the seeds of streams. */
export function testSeeds(share: number): void {
  const seeds = seedsOf(share, SHARES, STREAM_RUNS);
  test.skipIf(seeds.length === 0)(
    `what was acknowledged is neither lost nor doubled, over ${seeds.length} seeds`,
    async () => {
      console.log(`simulation: every ${SHARES}th seed from ${seeds[0]} to ${seeds.at(-1)}`);
      const reports: SimulationReport[] = [];
      for (const seed of seeds) {
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
}

/** Of all numbers in reports. */
export function sumOf(
  reports: readonly { readonly violation: string | null }[],
): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { violation: _, ...numbers } of reports) {
    for (const [name, value] of Object.entries(numbers)) {
      sums[name] = (sums[name] ?? 0) + Number(value);
    }
  }
  return sums;
}
