import { expect, test } from 'vitest';
import { seedsOf, sumOf, TIME_LIMIT_MS } from '../seeds.ts';
import { BOARD_EVENTS_MIN, type BoardReport, simulateBoards } from './board-simulation.ts';

const SHARES = 2;
const BOARD_RUNS = 500;

/** Runs every second seed, beginning with the share's own. */
export function testBoardSeeds(share: number): void {
  const seeds = seedsOf(share, SHARES, BOARD_RUNS);
  test.skipIf(seeds.length === 0)(
    `no score is lost or doubled while boards split and shrink, over ${seeds.length} seeds`,
    async () => {
      const reports: BoardReport[] = [];
      for (const seed of seeds) {
        const report = await simulateBoards(seed);
        expect(report.violation, `seed ${seed}`).toBeNull();
        expect(report.events, `seed ${seed}`).toBeGreaterThanOrEqual(BOARD_EVENTS_MIN);
        reports.push(report);
      }
      console.log(`simulation of boards: ${JSON.stringify(sumOf(reports))}`);
      const moves = reports.reduce((sum, report) => sum + report.moves, 0);
      expect(moves).toBeGreaterThan(seeds.length);
    },
    TIME_LIMIT_MS,
  );
}
