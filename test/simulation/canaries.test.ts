import { expect, test } from 'vitest';
import type { Canary } from './faulty-store.ts';
import { FIRST_SEED, TIME_LIMIT_MS } from './seeds.ts';
import { simulate } from './stream-simulation.ts';

const SEEDS_MAX = 2_000;

/** A simulation that finds nothing wrong is worth something only if it can. */
test.each<Canary>(['fold_without_tag_check', 'compaction_without_presence_check'])(
  'a %s is noticed',
  async (canary) => {
    let violation: string | null = null;
    for (let seed = FIRST_SEED; violation === null && seed < FIRST_SEED + SEEDS_MAX; seed += 1) {
      ({ violation } = await simulate(seed, { canary, isFocused: true }));
      if (violation !== null) console.log(`simulation: ${canary}, seed ${seed}: ${violation}`);
    }
    expect(violation).not.toBeNull();
  },
  TIME_LIMIT_MS,
);

test('the same seed takes the same way again', async () => {
  expect(await simulate(FIRST_SEED)).toEqual(await simulate(FIRST_SEED));
});
