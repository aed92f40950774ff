/**
 * `npm run bench:skew [-- --smoke] [-- --record]`: how evenly 16 shards are loaded when few keys
 * get most of the writes, and what splitting them costs a read.
 *
 * A published exercise (10,000 keys by md5, load by Zipf 1.1, the hottest key split in 100 by hand)
 * on Tally's own routing, with its figures; then the planner of Tally: four processes count writes
 * in their sketches, and every key that is hot by the sum of their reports is split. Loads are then
 * computed from the true shares, not sampled. Also with Tally's own hash, by many keys of it, since
 * one alone may be lucky. Seeds decide every figure, never the machine. Exits with 1 when a figure
 * of the exercise is another or the goal is missed.
 */
import { Prng } from '../src/lib/prng.ts';
import { automaticPartsMax, partsFor, type RateReport, sumRates } from '../src/shards/growth.ts';
import { HotKeys, type KeyRate } from '../src/shards/hot-keys.ts';
import { KeyedHash } from '../src/sketches/hash.ts';
import { ZipfSampler } from '../test/support/zipf.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import { showSpread, spreadOf } from './support/report-spread.ts';
import {
  byHash,
  dealt,
  fromOwnShard,
  type HashName,
  keyedHashOf,
  keyName,
  md5Of,
  measureSkew,
  type Place,
  SHARD_COUNT,
  type SkewFigures,
  zipfShares,
} from './support/skew-model.ts';

interface Scale {
  /** What the processes see before they report, at `WRITES_PER_SECOND`. */
  readonly intervalSeconds: number;
  /** How many keys of Tally's hash are tried. */
  readonly hashKeys: number;
}

const FULL: Scale = { intervalSeconds: 10, hashKeys: 60 };
const SMOKE: Scale = { intervalSeconds: 2, hashKeys: 5 };

const KEY_COUNT = 10_000;
const EXPONENT = 1.1;
const WRITES_PER_SECOND = 100_000;
const PROCESS_COUNT = 4;
/** A process sees a fourth of a key's writes, so that its minimum is far below that of a part. */
const RATE_MIN = 10;
/** A part is planned for 100 writes/s: a thousandth of all, a 60th of a shard's fair share. */
const PART_RATE = 125;
const PART_RATES = [1_000, 500, 250, 125, 62.5];
const HEADROOM = 0.2;
const BY_HAND = 100;
/** The figures of the exercise, to its digits: max/mean and the hottest shard in percent. */
const PUBLISHED = { keys: '1.06', load: '3.01', hottest: '18.81', byHand: '2.13' };
const GOAL_MAX_TO_MEAN = 1.15;

type Plan = ReadonlyMap<string, number>;

interface Variant {
  readonly name: string;
  readonly shares: readonly number[];
  readonly plan: Plan;
  readonly placeBy: (hash: HashName) => Place;
}

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:skew [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;

console.log(`parameters ${JSON.stringify(scale)}`);
const zipfRates = ratesOf(EXPONENT);
const variants = variantsOf();
const byMd5 = variants.map(({ shares, plan, placeBy }) =>
  measureSkew(shares, plan, placeBy(md5Of)),
);
const byKeyedHash = variants.map(({ shares, plan, placeBy }) =>
  measureByKeys(shares, plan, placeBy),
);
const byPartRate = PART_RATES.map((partRate) => {
  const plan = planOf(zipfRates, SHARD_COUNT, partRate);
  return measureByKeys(zipfShares(KEY_COUNT, EXPONENT), plan, dealt);
});
report();
reportPartRates();
const figures = { byMd5, byKeyedHash, byPartRate };
console.log(`\nmedian [least..most] of ${scale.hashKeys} keys of the hash`);
console.log(`result ${hashOf(figures)}`);
if (isRecorded) record('skew', scale, figures);
judge();

function measureByKeys(
  shares: readonly number[],
  plan: Plan,
  placeBy: Variant['placeBy'],
): SkewFigures[] {
  return Array.from({ length: scale.hashKeys }, (_, seed) =>
    measureSkew(shares, plan, placeBy(keyedHashOf(seed + 1))),
  );
}

function variantsOf(): Variant[] {
  const equal = zipfShares(KEY_COUNT, 0);
  const zipf = zipfShares(KEY_COUNT, EXPONENT);
  const none: Plan = new Map();
  const byHand: Plan = new Map([[keyName(0), BY_HAND]]);
  const automatic = planOf(zipfRates, automaticPartsMax(SHARD_COUNT), PART_RATE);
  const onePerShard = planOf(zipfRates, SHARD_COUNT, PART_RATE);
  const ofEqual = planOf(ratesOf(0), automaticPartsMax(SHARD_COUNT), PART_RATE);
  const row = (name: string, plan: Plan, placeBy: Variant['placeBy']): Variant => {
    return { name, shares: zipf, plan, placeBy };
  };
  return [
    { ...row('keys counted', none, byHash), shares: equal },
    row('load', none, byHash),
    row('the hottest in 100, by hash', byHand, byHash),
    row('automatic, by hash', automatic, byHash),
    row('automatic, from its own shard', automatic, fromOwnShard),
    row('automatic, round-robin', automatic, dealt),
    row('the same, 16 parts at most', onePerShard, dealt),
    { ...row('automatic, equal load', ofEqual, dealt), shares: equal },
  ];
}

/** Into how many parts each hot key belongs. */
function planOf(rates: readonly KeyRate[], partsMax: number, partRatePerSecond: number): Plan {
  const options = { partRatePerSecond, headroom: HEADROOM, partsNow: 1, partsMax };
  return new Map(
    rates.map(({ key, ratePerSecond }) => [key, partsFor({ ...options, ratePerSecond })]),
  );
}

/** What the processes together saw of drawn writes. */
function ratesOf(exponent: number): KeyRate[] {
  const nowMs = scale.intervalSeconds * 1_000;
  return sumRates(reportsOf(exponent, nowMs), { nowMs, ageMsMax: nowMs });
}

function reportsOf(exponent: number, nowMs: number): RateReport[] {
  const hash = new KeyedHash({ k0: 1, k1: 2 });
  const processes = Array.from(
    { length: PROCESS_COUNT },
    () => new HotKeys({ hash, nowMs: 0, ratePerSecondMin: RATE_MIN }),
  );
  const prng = new Prng(1);
  const zipf = new ZipfSampler(KEY_COUNT, exponent);
  for (let write = 0; write < WRITES_PER_SECOND * scale.intervalSeconds; write += 1) {
    prng.pick(processes).record(keyName(zipf.next(prng)), 1);
  }
  return processes.map((seen, index) => {
    return { process: String(index), atMs: nowMs, rates: seen.take(nowMs) };
  });
}

function report(): void {
  const headers = ['10,000 keys on 16 shards, by md5', 'max/mean', 'hottest', 'keys split'];
  headers.push('parts, read of a split key', 'shards of it', 'parts, any read', 'shards of it');
  const rows = variants.map(({ name }, at) => {
    const figures = byMd5[at]!;
    const { meanParts, maxParts, meanShards, maxShards, splitKeys } = figures;
    const split = [`${meanParts.toFixed(1)}, most ${maxParts}`];
    split.push(`${meanShards.toFixed(1)}, most ${maxShards}`);
    return [
      ...[name, figures.maxToMean.toFixed(2), `${percentOf(figures)} %`, String(splitKeys)],
      ...(splitKeys === 0 ? ['', ''] : split),
      ...[figures.partsPerRead.toFixed(1), figures.shardsPerRead.toFixed(1)],
    ];
  });
  console.log(`\n${tableOf(headers, rows)}`);
  const keyedRows = variants.map(({ name }, at) => {
    const runs = byKeyedHash[at]!;
    const maxToMeans = spreadOf(runs.map(({ maxToMean }) => maxToMean));
    const hottest = spreadOf(runs.map(({ hottestShare }) => 100 * hottestShare));
    return [name, showSpread(maxToMeans, 2), showSpread(hottest, 2)];
  });
  console.log(`\n${tableOf(['by the hash of Tally', 'max/mean', 'hottest, %'], keyedRows)}`);
}

/** What coarser parts and finer ones come to: fewer keys are split, and shards less even. */
function reportPartRates(): void {
  const headers = ['a part is planned for', 'keys split', 'parts, any read', 'max/mean'];
  const rows = PART_RATES.map((partRate, at) => {
    const runs = byPartRate[at]!;
    const planned = (100 * partRate * (1 - HEADROOM)) / (WRITES_PER_SECOND / SHARD_COUNT);
    const maxToMeans = spreadOf(runs.map(({ maxToMean }) => maxToMean));
    const { splitKeys, partsPerRead } = runs[0]!;
    return [
      ...[`${planned.toFixed(1)} % of a shard's share`, String(splitKeys)],
      ...[partsPerRead.toFixed(1), showSpread(maxToMeans, 2)],
    ];
  });
  console.log(`\n${tableOf(headers, rows)}`);
}

function percentOf({ hottestShare }: SkewFigures): string {
  return (100 * hottestShare).toFixed(2);
}

function judge(): void {
  const figuresOf = (name: string): SkewFigures[] => {
    const at = variants.findIndex((variant) => variant.name === name);
    return [byMd5[at]!, ...byKeyedHash[at]!];
  };
  const [keys, load, byHand] = byMd5;
  const found: typeof PUBLISHED = {
    keys: keys!.maxToMean.toFixed(2),
    load: load!.maxToMean.toFixed(2),
    hottest: percentOf(load!),
    byHand: byHand!.maxToMean.toFixed(2),
  };
  const isSame = JSON.stringify(found) === JSON.stringify(PUBLISHED);
  console.log(`${isSame ? 'met' : 'missed'}: the figures of the exercise`);
  const most = Math.max(...figuresOf('automatic, round-robin').map(({ maxToMean }) => maxToMean));
  const isMet = most <= GOAL_MAX_TO_MEAN;
  const verdict = isMet ? 'met' : 'missed';
  console.log(`${verdict}: max/mean at most ${GOAL_MAX_TO_MEAN}, by md5 and by each key`);
  if (!isSame || !isMet) process.exitCode = 1;
}
