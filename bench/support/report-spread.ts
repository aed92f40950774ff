/** Samples of one figure: what is shown of them is the middle one and how far they spread. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half]!;
  const median = sorted.length % 2 === 1 ? upper : (sorted[half - 1]! + upper) / 2;
  return { median, min: sorted[0]!, max: sorted.at(-1)! };
}

/** `12.3 [10.1..14.0]` */
export function showSpread({ median, min, max }: Spread, digits: number): string {
  const show = (value: number): string =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${show(median)} [${show(min)}..${show(max)}]`;
}

/** Sample by sample: both were measured in the same round. */
export function ratiosOf(samples: readonly number[], baseline: readonly number[]): number[] {
  return samples.map((sample, round) => sample / baseline[round]!);
}
