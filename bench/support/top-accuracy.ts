/** How close the top of an hour comes to the truth: summaries made as the pipeline makes them. */
import { nthLargest } from '../../src/lib/nth-largest.ts';
import { Prng } from '../../src/lib/prng.ts';
import { compareUtf8 } from '../../src/lib/utf8.ts';
import { KeyedHash } from '../../src/sketches/hash.ts';
import { Summary, type SummaryContext, type SummaryShape } from '../../src/sketches/summary.ts';
import {
  decodeSummary,
  encodeSummary,
  encodeSummaryUnordered,
} from '../../src/sketches/summary-codec.ts';
import { SummaryView } from '../../src/sketches/summary-view.ts';
import { generateHour, type HourOptions, itemName, type Workload } from './workload.ts';

export interface TopOptions extends HourOptions {
  readonly closedShape: SummaryShape;
  readonly partShape: SummaryShape;
  /** Recall is measured for each; the last is how many rows are asked for. */
  readonly ks: readonly [number, number];
  /** The bounds of so many of the most frequent items are checked, and of as many by chance. */
  readonly checkedItems: number;
}

/** One window read in one way. */
export interface ReadFigures {
  /** For each of `ks`: the share of the true first k that are among the first k rows. */
  readonly recalls: readonly number[];
  /** Mean over the true first ks[0] items of (count - truth) / truth. */
  readonly meanError: number;
  /** Broken promises: a truth outside of its bounds, or above maxUnlisted and not listed. */
  readonly violations: number;
  readonly summaryCount: number;
  readonly sketchedCount: number;
  readonly meanBytes: number;
  readonly maxBytes: number;
}

export interface HourFigures {
  readonly minutes: ReadFigures;
  readonly hour: ReadFigures;
}

interface Stored {
  readonly summary: Summary;
  readonly byteCount: number;
}

export function measureHour(workload: Workload, options: TopOptions, seed: number): HourFigures {
  const hashKeys = new Prng(~seed);
  const hash = new KeyedHash({ k0: hashKeys.nextUint32(), k1: hashKeys.nextUint32() });
  const closed: SummaryContext = { hash, shape: options.closedShape };
  const open: SummaryContext = { hash, shape: options.partShape };
  const truth = new Uint32Array(options.itemCount);
  const hours = Array.from({ length: options.partitionCount }, () => new Summary(closed));
  const minutes: Stored[] = [];
  for (const { partition, counts } of generateHour(workload, options, seed, truth)) {
    const share = new Summary(open);
    for (const part of partsOf(counts, open)) share.merge(part);
    const minute = new Summary(closed);
    minute.merge(share);
    hours[partition]!.merge(share);
    minutes.push(storedAndRead(minute, closed));
  }
  const ranking = trueRanking(truth, Math.max(options.checkedItems, options.ks[1]));
  const sample = new Prng(seed);
  const checked = [...ranking];
  for (let count = 0; count < options.checkedItems; count += 1) {
    checked.push(sample.nextInt(options.itemCount));
  }
  const judge = (stored: readonly Stored[]): ReadFigures =>
    judgeRead(stored, hash, { truth, ranking, checked, ks: options.ks });
  return {
    minutes: judge(minutes),
    hour: judge(hours.map((summary) => storedAndRead(summary, closed))),
  };
}

/** Two exact parts, as two folds would leave them, by way of their bytes. */
function partsOf(counts: ReadonlyMap<number, number>, context: SummaryContext): Summary[] {
  const parts = [new Summary(context), new Summary(context)];
  for (const [item, count] of counts) {
    const half = count >>> 1;
    if (half > 0) parts[0]!.add(itemName(item), half, null);
    parts[1]!.add(itemName(item), count - half, null);
  }
  return parts.map((part) => decodeSummary(encodeSummaryUnordered(part), context));
}

function storedAndRead(summary: Summary, context: SummaryContext): Stored {
  const bytes = encodeSummary(summary);
  return { summary: decodeSummary(bytes, context), byteCount: bytes.length };
}

interface Truth {
  /** By item number. */
  readonly truth: Uint32Array;
  /** The most frequent items, in order. */
  readonly ranking: readonly number[];
  /** Items whose bounds are looked at. */
  readonly checked: readonly number[];
  readonly ks: readonly [number, number];
}

function judgeRead(stored: readonly Stored[], hash: KeyedHash, known: Truth): ReadFigures {
  const { truth, ranking, checked, ks } = known;
  const summaries = stored.map(({ summary }) => summary);
  const view = new SummaryView(summaries, hash);
  const { rows, maxUnlisted } = view.top(ks[1]);
  const isOutside = (item: number, { lower, upper }: { lower: number; upper: number }): boolean =>
    truth[item]! < lower || truth[item]! > upper;
  const listed = new Set(rows.map(({ item }) => item));
  let violations = checked.filter((item) => isOutside(item, view.countOf(itemName(item)))).length;
  for (const row of rows) {
    if (isOutside(Number(row.item.slice(itemName(0).length - 1)), row)) violations += 1;
  }
  for (let item = 0; item < truth.length; item += 1) {
    if (truth[item]! > maxUnlisted && !listed.has(itemName(item))) violations += 1;
  }
  const errors = ranking
    .slice(0, ks[0])
    .map((item) => view.countOf(itemName(item)).upper / truth[item]! - 1);
  const byteCounts = stored.map(({ byteCount }) => byteCount);
  return {
    recalls: ks.map((k) => recallAt(k, rows, ranking)),
    meanError: mean(errors),
    violations,
    summaryCount: summaries.length,
    sketchedCount: summaries.filter(({ itemsExact }) => !itemsExact).length,
    meanBytes: Math.round(mean(byteCounts)),
    maxBytes: Math.max(...byteCounts),
  };
}

function recallAt(
  k: number,
  rows: readonly { readonly item: string }[],
  ranking: readonly number[],
): number {
  const found = new Set(rows.slice(0, k).map(({ item }) => item));
  return ranking.slice(0, k).filter((item) => found.has(itemName(item))).length / k;
}

/** The first n items by count, then by bytes. */
function trueRanking(truth: Uint32Array, n: number): number[] {
  const least = nthLargest(Float64Array.from(truth), n);
  const items: number[] = [];
  for (let item = 0; item < truth.length; item += 1) {
    if (truth[item]! >= least) items.push(item);
  }
  const inOrder = (a: number, b: number): number =>
    truth[b]! - truth[a]! || compareUtf8(itemName(a), itemName(b));
  return items.sort(inOrder).slice(0, n);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
