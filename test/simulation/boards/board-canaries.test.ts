import { expect, test } from 'vitest';
import { FIRST_SEED, TIME_LIMIT_MS } from '../seeds.ts';
import { simulateBoards } from './board-simulation.ts';
import type { BoardCanary } from './replicated-boards.ts';

const SEEDS_MAX = 2_000;

/** A simulation that finds nothing wrong is worth something only if it can. */
test.each<BoardCanary>(['move_without_fence', 'part_without_epoch_check'])(
  'a %s is noticed',
  async (canary) => {
    let violation: string | null = null;
    for (let seed = FIRST_SEED; violation === null && seed < FIRST_SEED + SEEDS_MAX; seed += 1) {
      ({ violation } = await simulateBoards(seed, canary));
      if (violation !== null) console.log(`simulation: ${canary}, seed ${seed}: ${violation}`);
    }
    expect(violation).not.toBeNull();
  },
  TIME_LIMIT_MS,
);

test('the same seed takes the same way again', async () => {
  expect(await simulateBoards(FIRST_SEED)).toEqual(await simulateBoards(FIRST_SEED));
});
