import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DECIMALS_MAX } from '../../src/boards/limits.ts';
import { keyOf, scaledOf, scaledText, scoreOf } from '../../src/boards/scores.ts';

const { MAX_SAFE_INTEGER } = Number;

const decimalsOf = fc.nat(DECIMALS_MAX);
/** Beyond 15 digits two scores of six decimals may be one double. */
const scaledOfFifteenDigits = fc.maxSafeInteger().map((scaled) => scaled % 10 ** 15);

describe('scores', () => {
  test('a scaled score of up to 15 digits comes back from its score as it was', () => {
    fc.assert(
      fc.property(scaledOfFifteenDigits, decimalsOf, (scaled, decimals) => {
        expect(scaledOf(scoreOf(scaled, decimals), decimals)).toBe(scaled === 0 ? 0 : scaled);
      }),
    );
  });

  test('without decimals every safe integer is its own scaled score', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (score) => {
        expect(scaledOf(score, 0)).toBe(score === 0 ? 0 : score);
        expect(scoreOf(score, 0)).toBe(score);
      }),
    );
    expect(scaledOf(MAX_SAFE_INTEGER, 0)).toBe(MAX_SAFE_INTEGER);
    expect(scaledOf(-MAX_SAFE_INTEGER, 0)).toBe(-MAX_SAFE_INTEGER);
  });

  test('one decimal more than the board keeps is refused, unless it is a zero', () => {
    const some = fc.integer({ min: 1, max: DECIMALS_MAX });
    fc.assert(
      fc.property(scaledOfFifteenDigits, some, (scaled, decimals) => {
        const score = scoreOf(scaled, decimals);
        const expected = scaled % 10 === 0 ? scaled / 10 : null;
        expect(scaledOf(score, decimals - 1)).toBe(expected === 0 ? 0 : expected);
      }),
    );
  });

  test('what is taken of any number is what its digits say', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), decimalsOf, (score, decimals) => {
        const scaled = scaledOf(score, decimals);
        if (scaled === null) return;
        expect(Number.isSafeInteger(scaled)).toBe(true);
        expect(Number(scaledText(BigInt(scaled), decimals))).toBe(score === 0 ? 0 : score);
      }),
      { numRuns: 1_000 },
    );
  });

  test('the text of a scaled score is exact, whatever its size', () => {
    fc.assert(
      fc.property(fc.bigInt(), decimalsOf, (scaled, decimals) => {
        const text = scaledText(scaled, decimals);
        expect(text).toMatch(/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/);
        const [whole = '', fraction = ''] = text.split('.');
        expect(BigInt(whole.replace('-', '') + fraction.padEnd(decimals, '0'))).toBe(
          scaled < 0n ? -scaled : scaled,
        );
        expect(text.startsWith('-')).toBe(scaled < 0n);
      }),
    );
  });

  test('a key turns back into its score, and the better score has the lower key', () => {
    const order = fc.constantFrom('ascending' as const, 'descending' as const);
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), order, (one, other, direction) => {
        expect(keyOf(keyOf(one, direction), direction)).toBe(one);
        const isBetter = direction === 'ascending' ? one < other : one > other;
        expect(keyOf(one, direction) < keyOf(other, direction)).toBe(isBetter);
      }),
    );
  });

  test('0.1 added ten times is 1', () => {
    const tenth = scaledOf(0.1, 1)!;
    const sum = Array.from({ length: 10 }, () => tenth).reduce((total, one) => total + one, 0);
    expect(scoreOf(sum, 1)).toBe(1);
    expect(scaledText(BigInt(sum), 1)).toBe('1');
  });

  test('zero has no sign', () => {
    expect(Object.is(scaledOf(-0, 0), 0)).toBe(true);
    expect(Object.is(scaledOf(-0, 2), 0)).toBe(true);
    expect(Object.is(keyOf(0, 'descending'), 0)).toBe(true);
    expect(Object.is(keyOf(0, 'ascending'), 0)).toBe(true);
    expect(Object.is(scoreOf(0, 2), 0)).toBe(true);
    expect(scaledText(0n, 3)).toBe('0');
  });

  test.each([
    ['no number', Number.NaN, 0],
    ['infinite', Number.POSITIVE_INFINITY, 0],
    ['infinite below', Number.NEGATIVE_INFINITY, 2],
    ['half of a board without decimals', 0.5, 0],
    ['of three decimals on a board of two', 1.005, 2],
    ['of more decimals than any board keeps', 1e-7, 6],
    ['the smallest there is', Number.MIN_VALUE, 6],
    ['one beyond the safe integers', MAX_SAFE_INTEGER + 1, 0],
    ['one beyond the safe integers once it is scaled', 90_071_992_547_410, 2],
    ['so large that it is written with an exponent', 1e21, 0],
    ['so large below zero', -1e21, 2],
    ['the largest there is', Number.MAX_VALUE, 0],
  ])('a score that is %s is refused', (_, score, decimals) => {
    expect(scaledOf(score, decimals)).toBeNull();
  });

  test.each([
    [1e-6, 6, 1],
    [1.5e-5, 6, 15],
    [-1e-6, 6, -1],
    [0.07, 2, 7],
    [-0.5, 1, -5],
    [100, 2, 10_000],
    [1.1, 6, 1_100_000],
    [90_071_992_547_409, 2, 9_007_199_254_740_900],
  ])('%d with %d decimals is kept as %d', (score, decimals, scaled) => {
    expect(scaledOf(score, decimals)).toBe(scaled);
    expect(scoreOf(scaled, decimals)).toBe(score);
  });
});
