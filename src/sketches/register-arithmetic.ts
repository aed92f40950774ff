/*
 * What      What HyperLogLog sketches of any precision have in common: the rank of a hash, and the
 *           estimate from how many registers hold each rank.
 * Paper     Ertl, 2017, "New cardinality estimation algorithms for HyperLogLog sketches", algorithm
 *           6, with the operations in Redis's order, so that results are equal.
 * Params    indexBits: bits of the hash that pick the register, from the low end.
 * Guarantee The estimate is finite, between 0 and 2^53 - 1, and 0 only if all registers are 0.
 * Memory    None of its own.
 * Cost      rankOf O(1); estimateOf O(ranks), with some tens of rounds at each end.
 * Merge     None.
 * Not       It keeps no registers.
 */

/** 1 / (2 ln 2), the limit of the bias correction for many registers (Ertl, 2017). */
const ALPHA_INFINITY = 0.5 / Math.LN2;
/** Where estimates end, since all counts are safe integers; only saturated registers get there. */
const ESTIMATE_MAX = Number.MAX_SAFE_INTEGER;
const HALF_BITS = 32;

/** 1 + trailing zeros of the hash without its index bits; `indexBits` is below 32. */
export function rankOf(lo: number, hi: number, indexBits: number): number {
  const rankBitsLo = lo >>> indexBits;
  if (rankBitsLo !== 0) return trailingZeros(rankBitsLo) + 1;
  if (hi !== 0) return HALF_BITS - indexBits + trailingZeros(hi) + 1;
  return 2 * HALF_BITS - indexBits + 1;
}

/** Of a 32-bit word that is not zero. */
function trailingZeros(word: number): number {
  return HALF_BITS - 1 - Math.clz32(word & -word);
}

/** `histogram` holds how many registers have each rank, from 0 to the largest there can be. */
export function estimateOf(histogram: Uint32Array): number {
  const m = histogram.reduce((sum, count) => sum + count, 0);
  const rankMax = histogram.length - 1;
  let z = m * tau((m - histogram[rankMax]!) / m);
  for (let rank = rankMax - 1; rank >= 1; rank -= 1) {
    z = (z + histogram[rank]!) * 0.5;
  }
  z += m * sigma(histogram[0]! / m);
  return Math.min((ALPHA_INFINITY * m * m) / z, ESTIMATE_MAX);
}

/** Ertl, 2017: x + sum over k >= 1 of x^(2^k) * 2^(k-1), for the untouched registers. */
function sigma(share: number): number {
  if (share === 1) return Number.POSITIVE_INFINITY;
  let x = share;
  let y = 1;
  let sum = share;
  let previous: number;
  do {
    x *= x;
    previous = sum;
    sum += x * y;
    y += y;
  } while (sum !== previous);
  return sum;
}

/** Ertl, 2017: (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 * 2^-k) / 3, for the saturated ones. */
function tau(share: number): number {
  if (share === 0 || share === 1) return 0;
  let x = share;
  let y = 1;
  let sum = 1 - share;
  let previous: number;
  do {
    x = Math.sqrt(x);
    previous = sum;
    y *= 0.5;
    sum -= (1 - x) ** 2 * y;
  } while (sum !== previous);
  return sum / 3;
}
