import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/lib/prng.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';
import { drawRegisters } from '../support/draw-registers.ts';
import { numbered, sketchOf } from '../support/sketch-of.ts';

/**
 * How many of its own standard errors a measured figure may lie beyond theory. The seeds are
 * fixed, so every case was decided once, and a case goes wrong by chance once in 30,000.
 */
const STANDARD_ERRORS_MAX = 4;

interface ErrorFigures {
  readonly bias: number;
  readonly rms: number;
}

function errorFigures(truth: number, estimates: readonly number[]): ErrorFigures {
  let sum = 0;
  let squares = 0;
  for (const estimate of estimates) {
    const relativeError = estimate / truth - 1;
    sum += relativeError;
    squares += relativeError ** 2;
  }
  return { bias: sum / estimates.length, rms: Math.sqrt(squares / estimates.length) };
}

/** The largest RMS that chance allows over so many sets if the promised error is true. */
function rmsMax(setCount: number): number {
  return HyperLogLog.standardError * (1 + STANDARD_ERRORS_MAX / Math.sqrt(2 * setCount));
}

function rmsMin(setCount: number): number {
  return HyperLogLog.standardError * (1 - STANDARD_ERRORS_MAX / Math.sqrt(2 * setCount));
}

function expectAsPromised({ bias, rms }: ErrorFigures, setCount: number): void {
  expect(rms).toBeLessThan(rmsMax(setCount));
  expect(Math.abs(bias)).toBeLessThan((STANDARD_ERRORS_MAX * rms) / Math.sqrt(setCount));
}

describe('the error of HyperLogLog over many keys', () => {
  it.each([
    [10, 2000],
    [100, 2000],
    [1000, 1000],
    [10_000, 400],
    [100_000, 100],
  ])('is unbiased and at most 1.04 / sqrt(registers) for %i ids', (idCount, setCount) => {
    const prng = new Prng(idCount);
    const ids = [...numbered('visitor-', 0, idCount)];
    const estimates = Array.from({ length: setCount }, () => {
      const hash = new KeyedHash({ k0: prng.nextUint32(), k1: prng.nextUint32() });
      return sketchOf(ids, hash).estimate();
    });
    expectAsPromised(errorFigures(idCount, estimates), setCount);
  });

  it.each([100_000, 1_000_000, 10_000_000, 20_000_000_000])(
    'is unbiased and just as large as theory says for %i ids, drawn from their distribution',
    (idCount) => {
      const setCount = 500;
      const prng = new Prng(5);
      const estimates = Array.from({ length: setCount }, () =>
        drawRegisters(idCount, prng).estimate(),
      );
      const figures = errorFigures(idCount, estimates);
      expectAsPromised(figures, setCount);
      expect(figures.rms).toBeGreaterThan(rmsMin(setCount));
    },
  );
});
