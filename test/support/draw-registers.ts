import type { Prng } from '../../src/lib/prng.ts';
import { HyperLogLog } from '../../src/sketches/hyperloglog.ts';

const INDEX_BITS = 14;
const REGISTER_COUNT = 1 << INDEX_BITS;
const ALL_INDEXES = Uint16Array.from({ length: REGISTER_COUNT }, (_, index) => index);
const RANK_MAX = 64 - INDEX_BITS + 1;
const RANK_BITS_LO = 32 - INDEX_BITS;
/** From this mean on, a binomial is searched from its mode, where Stirling's series is exact. */
const MODE_SEARCH_MEAN_MIN = 12;

/**
 * The sketch of `count` different, uniformly hashed ids, drawn from its exact distribution in
 * time O(registers + sqrt(count)), so that billions of ids take as long as thousands.
 *
 * Every id lands in a uniform register with a geometric rank, independently of all others, and a
 * register keeps its largest rank. So the ids are dealt from the highest rank down. The number
 * of ids with exactly this rank is binomial; of these, the number that land in registers which no
 * higher rank has reached is binomial too, and each of them lands in a uniform one of those
 * registers. All others change nothing. Nothing is approximated but real numbers by doubles.
 */
export function drawRegisters(count: number, prng: Prng): HyperLogLog {
  const sketch = new HyperLogLog();
  const idCounts = drawRankCounts(count, prng);
  const open = ALL_INDEXES.slice();
  let openCount = REGISTER_COUNT;
  for (let rank = RANK_MAX; rank >= 1 && openCount > 0; rank -= 1) {
    const openBefore = openCount;
    const landings = drawBinomial(idCounts[rank] ?? 0, openBefore / REGISTER_COUNT, prng);
    for (let landing = 0; landing < landings; landing += 1) {
      const place = prng.nextInt(openBefore);
      // Places from openCount on hold the registers that this rank has reached already.
      if (place >= openCount) continue;
      openCount -= 1;
      const index = open[place] ?? 0;
      open[place] = open[openCount] ?? 0;
      open[openCount] = index;
      const { lo, hi } = hashWith(index, rank);
      sketch.addHash(lo, hi);
    }
  }
  return sketch;
}

/** A hash that lands in the register `index` with the rank `rank`. */
export function hashWith(
  index: number,
  rank: number,
): { readonly lo: number; readonly hi: number } {
  if (rank <= RANK_BITS_LO) return { lo: (index | (1 << (INDEX_BITS + rank - 1))) >>> 0, hi: 0 };
  if (rank < RANK_MAX) return { lo: index, hi: (1 << (rank - RANK_BITS_LO - 1)) >>> 0 };
  return { lo: index, hi: 0 };
}

/** How many of `count` ids have each rank, 1 to RANK_MAX: half of those left have the next one. */
function drawRankCounts(count: number, prng: Prng): number[] {
  const idCounts = [0];
  let left = count;
  for (let rank = 1; rank < RANK_MAX; rank += 1) {
    const exactly = drawBinomial(left, 0.5, prng);
    idCounts.push(exactly);
    left -= exactly;
  }
  idCounts.push(left);
  return idCounts;
}

/**
 * Successes in `trials` trials of probability p, by inversion: a uniform number is used up by the
 * probabilities of the values in turn, from the likely ones outwards.
 */
export function drawBinomial(trials: number, p: number, prng: Prng): number {
  if (p > 0.5) return trials - drawBinomial(trials, 1 - p, prng);
  if (trials === 0 || p === 0) return 0;
  const searchesFromMode = trials * p >= MODE_SEARCH_MEAN_MIN;
  const start = searchesFromMode ? Math.floor((trials + 1) * p) : 0;
  const startProbability = searchesFromMode
    ? binomialNearMean(trials, p, start)
    : Math.exp(trials * Math.log1p(-p));
  const odds = p / (1 - p);
  let left = prng.nextFloat() - startProbability;
  let up = start;
  let upProbability = startProbability;
  let down = start;
  let downProbability = startProbability;
  while (left >= 0 && (upProbability > 0 || downProbability > 0)) {
    upProbability *= ((trials - up) / (up + 1)) * odds;
    up += 1;
    left -= upProbability;
    if (left < 0) return up;
    downProbability *= down / ((trials - down + 1) * odds);
    down -= 1;
    left -= downProbability;
    if (left < 0) return down;
  }
  return start;
}

/**
 * Probability of `successes`, which lie within 1 of the mean: Loader, 2000, "Fast and accurate
 * computation of binomial probabilities". Logarithms of factorials would cancel too much.
 */
function binomialNearMean(trials: number, p: number, successes: number): number {
  const failures = trials - successes;
  const exponent =
    stirlingError(trials) -
    stirlingError(successes) -
    stirlingError(failures) -
    deviance(successes, trials * p) -
    deviance(failures, trials * (1 - p));
  return Math.exp(exponent) * Math.sqrt(trials / (2 * Math.PI * successes * failures));
}

/** ln n! minus Stirling's formula; below 1e-12 off for n >= 12. */
function stirlingError(n: number): number {
  const inverseSquare = 1 / (n * n);
  return (
    (1 / 12 - (1 / 360 - (1 / 1260 - inverseSquare / 1680) * inverseSquare) * inverseSquare) / n
  );
}

/** value * ln(value / mean) + mean - value, without cancellation where the two are close. */
function deviance(value: number, mean: number): number {
  const difference = value - mean;
  return value * Math.log1p(difference / mean) - difference;
}
