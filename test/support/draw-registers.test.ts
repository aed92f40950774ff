import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { drawBinomial, drawRegisters, hashWith } from './draw-registers.ts';

const REGISTER_COUNT = 16_384;
const RANK_MAX = 51;
/** Fixed seeds decide every case here once; 5 standard errors leave no room for a wrong formula. */
const STANDARD_ERRORS_MAX = 5;

/** In standard errors; 0 where so few cases are expected that nothing is normally distributed. */
function zScore(observed: number, expected: number, variance: number): number {
  return variance < 10 ? 0 : (observed - expected) / Math.sqrt(variance);
}

describe('drawBinomial', () => {
  it.each([
    [10, 0.3],
    [40, 0.5],
    [60, 0.7],
    [5000, 0.001],
    [5000, 0.02],
    [100, 0.99],
  ])('draws every value of %i trials at %d as often as its probability says', (trials, p) => {
    const draws = 40_000;
    const prng = new Prng(trials);
    const seen = new Map<number, number>();
    for (let draw = 0; draw < draws; draw += 1) {
      const value = drawBinomial(trials, p, prng);
      seen.set(value, (seen.get(value) ?? 0) + 1);
    }
    let logProbability = trials * Math.log1p(-p);
    for (let value = 0; value <= trials; value += 1) {
      const expected = draws * Math.exp(logProbability);
      const observed = seen.get(value) ?? 0;
      const z = zScore(observed, expected, expected * (1 - expected / draws));
      expect(Math.abs(z), `value ${value}`).toBeLessThan(STANDARD_ERRORS_MAX);
      logProbability += Math.log(((trials - value) / (value + 1)) * (p / (1 - p)));
    }
  });

  it('has the mean and the variance of its distribution for large numbers of trials', () => {
    const draws = 2000;
    const prng = new Prng(7);
    for (const [trials, p] of [
      [1e7, 0.5],
      [1e9, 0.1],
      [1e6, 0.9],
    ] as const) {
      const variance = trials * p * (1 - p);
      let sum = 0;
      let squares = 0;
      for (let draw = 0; draw < draws; draw += 1) {
        const deviation = drawBinomial(trials, p, prng) - trials * p;
        sum += deviation;
        squares += deviation ** 2;
      }
      expect(Math.abs(zScore(sum, 0, draws * variance))).toBeLessThan(STANDARD_ERRORS_MAX);
      const varianceRatioError = (squares / draws / variance - 1) / Math.sqrt(2 / draws);
      expect(Math.abs(varianceRatioError)).toBeLessThan(STANDARD_ERRORS_MAX);
    }
  });

  it('knows the certain cases', () => {
    const prng = new Prng(1);
    expect(drawBinomial(0, 0.5, prng)).toBe(0);
    expect(drawBinomial(1000, 0, prng)).toBe(0);
    expect(drawBinomial(1000, 1, prng)).toBe(1000);
  });
});

describe('drawRegisters', () => {
  it.each([1, 100, 20_000, 1_000_000, 20_000_000_000])(
    'leaves as many registers at or below each rank as theory says for %i ids',
    (count) => {
      const sets = 100;
      const prng = new Prng(count % 2 ** 31);
      const atRank = new Array<number>(RANK_MAX + 1).fill(0);
      for (let set = 0; set < sets; set += 1) {
        const { registers } = drawRegisters(count, prng);
        for (let index = 0; index < REGISTER_COUNT; index += 1) {
          const rank = registers[index] ?? 0;
          atRank[rank] = (atRank[rank] ?? 0) + 1;
        }
      }
      let atOrBelow = 0;
      for (let rank = 0; rank < RANK_MAX; rank += 1) {
        atOrBelow += atRank[rank] ?? 0;
        // A register stays at or below a rank if no id lands in it with a larger one.
        const p = Math.exp(count * Math.log1p(-(2 ** -rank) / REGISTER_COUNT));
        const cells = sets * REGISTER_COUNT;
        const z = zScore(atOrBelow, cells * p, cells * p * (1 - p));
        expect(Math.abs(z), `rank ${rank}`).toBeLessThan(STANDARD_ERRORS_MAX);
      }
    },
  );

  it('draws an empty sketch for no ids', () => {
    expect(drawRegisters(0, new Prng(1)).registers).toEqual(new HyperLogLog().registers);
  });
});

describe('hashWith', () => {
  it('makes a hash for every register and rank', () => {
    for (const index of [0, 1, 8191, 16_383]) {
      for (let rank = 1; rank <= RANK_MAX; rank += 1) {
        const sketch = new HyperLogLog();
        const { lo, hi } = hashWith(index, rank);
        sketch.addHash(lo, hi);
        expect(sketch.registers[index]).toBe(rank);
      }
    }
  });
});
