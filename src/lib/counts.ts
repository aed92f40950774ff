/** Many counts in a row: in 32 bits each where that is enough, else exact up to 2^53 - 1. */
export type Counts = Uint32Array | Float64Array;

const TWO_POW_32 = 2 ** 32;

/** Zeros, with room for counts of at most `max`. */
export function newCounts(length: number, max: number): Counts {
  return max < TWO_POW_32 ? new Uint32Array(length) : new Float64Array(length);
}
