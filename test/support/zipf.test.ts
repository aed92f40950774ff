import { expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { ZipfSampler } from './zipf.ts';

/** Standard errors by which a frequency may differ; the seed is fixed. */
const STANDARD_ERRORS_MAX = 4.5;

it.each([0, 0.8, 1, 1.2, 2])('draws each item as often as Zipf %f says', (exponent) => {
  const itemCount = 50;
  const drawCount = 50_000;
  const sampler = new ZipfSampler(itemCount, exponent);
  const prng = new Prng(1);
  const counts = new Float64Array(itemCount);
  for (let draw = 0; draw < drawCount; draw += 1) counts[sampler.next(prng)]! += 1;
  const weights = Array.from({ length: itemCount }, (_, index) => (index + 1) ** -exponent);
  const weightSum = weights.reduce((sum, weight) => sum + weight, 0);
  for (const [index, weight] of weights.entries()) {
    const p = weight / weightSum;
    const standardError = Math.sqrt(drawCount * p * (1 - p));
    expect(Math.abs(counts[index]! - drawCount * p)).toBeLessThan(
      STANDARD_ERRORS_MAX * standardError,
    );
  }
});

it('draws the only item there is', () => {
  expect(new ZipfSampler(1, 1).next(new Prng(1))).toBe(0);
});
