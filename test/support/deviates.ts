import type { Prng } from '../../src/lib/prng.ts';

/** Box and Muller's way to a normal deviate. */
export function normal(prng: Prng): number {
  const radius = Math.sqrt(-2 * Math.log(1 - prng.nextFloat()));
  return radius * Math.cos(2 * Math.PI * prng.nextFloat());
}

/** Small means by multiplying uniform deviates (Knuth), large ones by a rounded normal. */
export function poisson(mean: number, prng: Prng): number {
  if (mean > 60) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(prng)));
  const least = Math.exp(-mean);
  let product = prng.nextFloat();
  let count = 0;
  while (product > least) {
    product *= prng.nextFloat();
    count += 1;
  }
  return count;
}
