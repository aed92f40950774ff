/**
 * `npm run bench:trending [-- --smoke] [-- --record]`: does /trending find what was planted into a
 * synthetic history, and nothing else? Exits with 1 when a goal is missed. Every event passes
 * ingest, fold and compaction; figures depend on seeds only, never on the machine.
 */
import { CLOSED_SHAPE, PART_SHAPE, type SummaryShape } from '../src/sketches/summary.ts';
import type { RankedBy } from '../src/streams/answers.ts';
import { HOUR_MS, MINUTE_MS } from '../src/streams/buckets.ts';
import { Pipeline } from '../test/support/pipeline.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import {
  BASELINE_DAYS,
  type HistoryOptions,
  keyOf,
  type Planted,
  TrendingHistory,
} from './support/trending-history.ts';

const START_MS = Date.UTC(2026, 9, 5);
const BATCH_EVENTS = 5_000;
const ROWS_MAX = 500;
const RECALL_GOAL = 0.95;
const PRECISION_GOAL = 0.95;
const FALSE_PER_1000_WINDOWS_GOAL = 1;

/** So small that every hour is sketched, viewers included, and most items share their cells. */
const SMALL_SHAPE: SummaryShape = {
  ...CLOSED_SHAPE,
  width: 256,
  depth: 3,
  candidates: 80,
  exactItems: 10,
  exactActors: 64,
  exactPairs: 64,
  viewerBytes: 24 * 2 ** 10,
};

const KINDS = ['planted', 'control'] as const;
type Kind = (typeof KINDS)[number];
/** Ends of the windows asked for, before the end of an hour; bursts and bots fill whole hours. */
const ENDS_MS: Readonly<Record<Kind, readonly number[]>> = {
  planted: [0],
  control: [0, 30 * MINUTE_MS],
};
const SHAPES = { 'as built': CLOSED_SHAPE, 'forced small': SMALL_SHAPE } as const;
const MEASURES: readonly RankedBy[] = ['events', 'actors'];

interface Scale extends Omit<HistoryOptions, 'seed'> {
  readonly seeds: readonly number[];
}

const FULL: Scale = {
  seeds: Array.from({ length: 20 }, (_, index) => index + 1),
  days: 30,
  itemCount: 150,
  rateMax: 150,
  burstCount: 200,
  botCount: 60,
};
const SMOKE: Scale = {
  seeds: [1],
  days: 8,
  itemCount: 20,
  rateMax: 100,
  burstCount: 12,
  botCount: 4,
};

/** Added up over seeds. */
interface Figures {
  windows: number;
  /** Of them, those with an exact answer. */
  exact: number;
  planted: number;
  found: number;
  falseRows: number;
  botRows: number;
}

async function measure(
  scale: Scale,
  kind: Kind,
  closedShape: SummaryShape,
): Promise<Record<RankedBy, Figures>> {
  const sums = { events: noFigures(), actors: noFigures() };
  for (const seed of scale.seeds) {
    const isControl = kind === 'control';
    const plants = isControl ? { burstCount: 0, botCount: 0 } : {};
    const history = new TrendingHistory({ ...scale, ...plants, seed: isControl ? -seed : seed });
    const pipeline = new Pipeline({ startMs: START_MS, closedShape, partShape: PART_SHAPE });
    for (let hour = 0; hour < history.hourCount; hour += 1) {
      await bringIn(pipeline, history, hour);
      if (hour < BASELINE_DAYS * 24) continue;
      for (const endMs of ENDS_MS[kind]) {
        const untilMs = START_MS + (hour + 1) * HOUR_MS - endMs;
        for (const by of MEASURES) await judge(pipeline, history, untilMs, by, sums[by]);
      }
    }
  }
  return sums;
}

async function bringIn(pipeline: Pipeline, history: TrendingHistory, hour: number): Promise<void> {
  const startMs = START_MS + hour * HOUR_MS;
  await pipeline.clock.advance(Math.max(0, startMs + HOUR_MS - pipeline.clock.nowMs()));
  const events = history.eventsOf(hour).map(({ item, actor, count, offsetMs }) => {
    return { item, actor, count, atMs: startMs + offsetMs };
  });
  for (let at = 0; at < events.length; at += BATCH_EVENTS) {
    await pipeline.send(events.slice(at, at + BATCH_EVENTS));
  }
  await pipeline.compactAll();
}

/** Compares the list of a window with what was planted into its hour. */
async function judge(
  { queries }: Pipeline,
  history: TrendingHistory,
  untilMs: number,
  by: RankedBy,
  figures: Figures,
): Promise<void> {
  const hour = Math.ceil((untilMs - START_MS) / HOUR_MS) - 1;
  const { items, exact } = await queries.trending({
    stream: 'default',
    window: { kind: 'trailing', lengthMs: 60 * MINUTE_MS, untilMs },
    k: ROWS_MAX,
    by,
  });
  const isOf = (planted: readonly Planted[], item: string): boolean =>
    planted.some((each) => each.hour === hour && each.item === item);
  const bursts = history.bursts.filter((each) => each.hour === hour);
  const listed = new Set(items.map(({ item }) => keyOf(item, hour)));
  figures.windows += 1;
  figures.exact += exact ? 1 : 0;
  figures.planted += bursts.length;
  figures.found += bursts.filter(({ item }) => listed.has(keyOf(item, hour))).length;
  for (const { item } of items) {
    if (isOf(history.bursts, item)) continue;
    if (isOf(history.bots, item)) figures.botRows += 1;
    else figures.falseRows += 1;
  }
}

function noFigures(): Figures {
  return { windows: 0, exact: 0, planted: 0, found: 0, falseRows: 0, botRows: 0 };
}

const HEADERS = [
  ...['history', 'sketches', 'by', 'windows', 'exact', 'bursts', 'recall', 'precision'],
  ...['false / 1,000 windows', 'rows of bots'],
];

/** Null where there is nothing to measure. */
interface Rates {
  readonly recall: number | null;
  readonly precision: number | null;
  readonly falsePer1000: number;
}

function ratesOf({ windows, planted, found, falseRows }: Figures): Rates {
  return {
    recall: planted === 0 ? null : found / planted,
    precision: planted === 0 ? null : found / (found + falseRows),
    falsePer1000: (1_000 * falseRows) / windows,
  };
}

/** A bot is as unusual by events as any burst; by actors it must not be seen. */
function missedGoals(shape: SummaryShape, by: RankedBy, figures: Figures): string[] {
  const { recall, precision, falsePer1000 } = ratesOf(figures);
  const faults: string[] = [];
  if ((recall ?? 1) < RECALL_GOAL) faults.push('recall');
  if ((precision ?? 1) < PRECISION_GOAL) faults.push('precision');
  if (recall === null && falsePer1000 > FALSE_PER_1000_WINDOWS_GOAL) faults.push('false rows');
  if (shape === SMALL_SHAPE && by === 'events' && figures.exact > 0) faults.push('exact answers');
  if (by === 'actors' && figures.botRows > 0) faults.push('bots');
  return faults;
}

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((arg) => arg !== '--smoke' && arg !== '--record');
  if (unknown.length > 0) {
    process.stderr.write(`there is no argument ${unknown.join(' ')}\n`);
    return 2;
  }
  const scale = args.includes('--smoke') ? SMOKE : FULL;
  const rows: string[][] = [];
  const all: Record<string, Figures> = {};
  const missed: string[] = [];
  for (const [shapeName, shape] of Object.entries(SHAPES)) {
    for (const kind of KINDS) {
      const sums = await measure(scale, kind, shape);
      for (const by of MEASURES) {
        const name = `${kind}, ${shapeName}, by ${by}`;
        all[name] = sums[by];
        rows.push(rowOf(kind, shapeName, by, sums[by]));
        missed.push(...missedGoals(shape, by, sums[by]).map((fault) => `${name}: ${fault}`));
      }
    }
  }
  process.stdout.write(`${tableOf(HEADERS, rows)}\n\nresult ${hashOf(all)}\n`);
  for (const fault of missed) process.stdout.write(`missed goal: ${fault}\n`);
  if (missed.length === 0) process.stdout.write('all goals are met\n');
  if (args.includes('--record')) record('trending', scale, all);
  return missed.length === 0 ? 0 : 1;
}

function countsOf({ windows, exact, planted }: Figures): string[] {
  return [windows, exact, planted].map(String);
}

function rowOf(kind: string, shape: string, by: RankedBy, figures: Figures): string[] {
  const { recall, precision, falsePer1000 } = ratesOf(figures);
  const share = (value: number | null): string => (value === null ? '' : value.toFixed(3));
  return [
    ...[kind, shape, by, ...countsOf(figures)],
    ...[share(recall), share(precision), falsePer1000.toFixed(2), String(figures.botRows)],
  ];
}

process.exitCode = await main(process.argv.slice(2));
