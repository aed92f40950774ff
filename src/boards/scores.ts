/**
 * Scores as users see them and as parts keep them: a score of `decimals` decimals is scaled to a
 * safe integer, so that 0.1 added ten times is 1; and it is negated to a key where the highest
 * leads, so that all parts have one order. Pure.
 */
import type { ScoreOrder } from './settings.ts';

const EXPONENT = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/** Null: more decimals than that, or no safe integer once it is scaled. */
export function scaledOf(score: number, decimals: number): number | null {
  if (Number.isSafeInteger(score) && decimals === 0) return score === 0 ? 0 : score;
  const match = EXPONENT.exec(String(score));
  if (match === null) return null;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const shift = Number(exponent) + decimals - fraction.length;
  let digits = (whole + fraction).replace(/^0+/, '');
  if (shift < 0) {
    if (/[^0]/.test(digits.slice(shift))) return null;
    digits = digits.slice(0, shift);
  } else if (digits !== '') {
    if (digits.length + shift > String(Number.MAX_SAFE_INTEGER).length) return null;
    digits += '0'.repeat(shift);
  }
  const scaled = Number(`${sign}${digits === '' ? '0' : digits}`);
  if (!Number.isSafeInteger(scaled)) return null;
  return scaled === 0 ? 0 : scaled;
}

/** The number that is nearest to the scaled integer's score. */
export function scoreOf(scaled: number, decimals: number): number {
  return decimals === 0 ? scaled : Number(scaledText(BigInt(scaled), decimals));
}

/** Exact, as a decimal text. */
export function scaledText(scaled: bigint, decimals: number): string {
  if (decimals === 0) return String(scaled);
  const sign = scaled < 0n ? '-' : '';
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, -decimals);
  return `${sign}${whole}${fraction === '' ? '' : '.'}${fraction}`;
}

/** From a scaled score to a key and back; 0 stays 0, never -0. */
export function keyOf(scaled: number, order: ScoreOrder): number {
  return order === 'ascending' || scaled === 0 ? scaled : -scaled;
}
