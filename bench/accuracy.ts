/**
 * `npm run bench:accuracy [-- --smoke] [-- --record]`: are the answers as close to the truth as
 * docs/accuracy.md says? Exits with 1 when a goal is missed. Figures depend on seeds only, never on
 * the machine; nothing here measures time.
 */
import { CLOSED_SHAPE, PART_SHAPE } from '../src/sketches/summary.ts';
import { startRedis } from '../test/support/redis-server.ts';
import {
  type DistinctFigures,
  measureDrawn,
  measureHashed,
  measureRedis,
  type RedisFigures,
} from './support/distinct-accuracy.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import {
  type HourFigures,
  measureHour,
  type ReadFigures,
  type TopOptions,
} from './support/top-accuracy.ts';
import { WORKLOADS, type Workload } from './support/workload.ts';

interface Scale {
  readonly top: Omit<TopOptions, 'partitionCount'>;
  readonly partitionCounts: readonly number[];
  readonly seeds: readonly number[];
  /** Sizes of sets of ids that are hashed, and of those whose registers are drawn. */
  readonly hashedSizes: readonly number[];
  readonly drawnSizes: readonly number[];
  readonly setCount: number;
  /** How many sets of a size Redis counts. */
  readonly redisSets: readonly (readonly [size: number, setCount: number])[];
}

const FULL: Scale = {
  top: {
    eventCount: 10_000_000,
    itemCount: 1_000_000,
    minuteCount: 60,
    batchSize: 1_000,
    closedShape: CLOSED_SHAPE,
    partShape: PART_SHAPE,
    ks: [100, 500],
    checkedItems: 5_000,
  },
  partitionCounts: [1, 6],
  seeds: [1, 2, 3, 4, 5],
  hashedSizes: [10, 100, 1_000, 10_000, 100_000],
  drawnSizes: [1_000_000, 10_000_000],
  setCount: 5_000,
  redisSets: [
    [10, 5_000],
    [100, 5_000],
    [1_000, 2_000],
    [10_000, 500],
    [100_000, 100],
    [1_000_000, 10],
  ],
};

/** A tenth of everything, so that summaries are sketched as in the full size. */
const SMOKE_SHAPE = { ...CLOSED_SHAPE, width: 2_048, candidates: 400, exactItems: 1_000 };

const SMOKE: Scale = {
  top: {
    ...FULL.top,
    eventCount: 200_000,
    itemCount: 50_000,
    minuteCount: 10,
    closedShape: SMOKE_SHAPE,
    ks: [20, 50],
    checkedItems: 500,
  },
  partitionCounts: [1, 3],
  seeds: [1],
  hashedSizes: [10, 1_000, 10_000],
  drawnSizes: [1_000_000],
  setCount: 100,
  redisSets: [
    [100, 50],
    [10_000, 5],
  ],
};

const RECALL_GOALS = [1, 0.99] as const;
const ERROR_GOAL = 0.0001;
const ERROR_GOAL_DRIFTING = 0.002;
const RMS_GOAL = 0.0085;
/** A smoke run has too few sets to judge the figure itself: this many standard errors of it. */
const RMS_STANDARD_ERRORS = 4;

interface TopRun {
  readonly workload: Workload;
  readonly partitionCount: number;
  readonly seed: number;
  readonly figures: HourFigures;
}

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:accuracy [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;
const missedGoals: string[] = [];

console.log(`parameters ${JSON.stringify(scale)}`);
const tops = measureTops();
const distincts = [
  ...scale.hashedSizes.map((size) => measureHashed(size, scale.setCount)),
  ...scale.drawnSizes.map((size) => measureDrawn(size, scale.setCount)),
];
const ofRedis = await measureAllRedis();
printDistincts(distincts, ofRedis);
const figures = { tops, distincts, ofRedis };
console.log(`\nresult ${hashOf(figures)}`);
if (isRecorded) record('accuracy', scale, figures);
for (const goal of missedGoals) console.log(`missed: ${goal}`);
console.log(missedGoals.length === 0 ? 'all goals are met' : `${missedGoals.length} goals missed`);
process.exitCode = missedGoals.length === 0 ? 0 : 1;

function measureTops(): TopRun[] {
  const runs: TopRun[] = [];
  for (const workload of WORKLOADS) {
    for (const partitionCount of scale.partitionCounts) {
      for (const seed of scale.seeds) {
        const figures = measureHour(workload, { ...scale.top, partitionCount }, seed);
        runs.push({ workload, partitionCount, seed, figures });
      }
      judgeTops(runs.slice(-scale.seeds.length));
    }
  }
  const [near, far] = scale.top.ks;
  const headers = ['window of one hour', 'partitions', 'read from', `recall@${near}`];
  headers.push(`recall@${far}`, `error of ${near}`, 'violations', 'sketched', 'bytes each');
  const rows = WORKLOADS.flatMap((workload) =>
    scale.partitionCounts.flatMap((partitionCount) => {
      const group = runs.filter(
        (run) => run.workload === workload && run.partitionCount === partitionCount,
      );
      const prefix = [workload.name, String(partitionCount)];
      return [
        [...prefix, 'minutes', ...cellsOf(group.map((run) => run.figures.minutes))],
        [...prefix, 'the hour', ...cellsOf(group.map((run) => run.figures.hour))],
      ];
    }),
  );
  console.log(`\n${tableOf(headers, rows)}`);
  return runs;
}

/** The worst seed of each figure, so that a mean hides nothing. */
function cellsOf(reads: readonly ReadFigures[]): string[] {
  const worstRecall = (at: number): string =>
    Math.min(...reads.map(({ recalls }) => recalls[at] ?? 0)).toFixed(4);
  const sum = (value: (read: ReadFigures) => number): number =>
    reads.reduce((total, read) => total + value(read), 0);
  const maxError = Math.max(...reads.map(({ meanError }) => meanError));
  const sketched = `${sum((read) => read.sketchedCount)} of ${sum((read) => read.summaryCount)}`;
  const meanBytes = Math.round(sum((read) => read.meanBytes) / reads.length);
  return [
    worstRecall(0),
    worstRecall(1),
    percent(maxError),
    String(sum((read) => read.violations)),
    sketched,
    meanBytes.toLocaleString('en'),
  ];
}

/** The goals are those of the window as it is answered: from minutes. */
function judgeTops(runs: readonly TopRun[]): void {
  for (const { workload, partitionCount, seed, figures } of runs) {
    const name = `${workload.name}, ${partitionCount} partitions, seed ${seed}`;
    const { recalls, meanError } = figures.minutes;
    for (const [at, goal] of RECALL_GOALS.entries()) {
      const recall = recalls[at] ?? 0;
      if (recall < goal) missedGoals.push(`${name}: recall@${scale.top.ks[at]} is ${recall}`);
    }
    const errorGoal = workload.driftRanksPerMinute > 0 ? ERROR_GOAL_DRIFTING : ERROR_GOAL;
    if (!(meanError >= 0 && meanError <= errorGoal)) {
      missedGoals.push(`${name}: the mean error is ${percent(meanError)}`);
    }
    const violations = figures.minutes.violations + figures.hour.violations;
    if (violations > 0) missedGoals.push(`${name}: ${violations} bounds do not hold`);
  }
}

async function measureAllRedis(): Promise<RedisFigures[]> {
  const server = await startRedis();
  try {
    const figures: RedisFigures[] = [];
    for (const [size, setCount] of scale.redisSets) {
      figures.push(await measureRedis(server.socketPath, size, setCount));
    }
    return figures;
  } finally {
    await server.stop();
  }
}

function printDistincts(
  measured: readonly DistinctFigures[],
  ofRedis: readonly RedisFigures[],
): void {
  const slack = isSmoke ? 1 + RMS_STANDARD_ERRORS / Math.sqrt(2 * scale.setCount) : 1;
  const rows = measured.map((figures) => {
    const { size, setCount, isHashed, rmsError, maxError, answerRmsError, exactAnswers } = figures;
    if (rmsError > RMS_GOAL * slack) {
      missedGoals.push(`${size} actors: the RMS error is ${percent(rmsError)}`);
    }
    if (isHashed && size <= CLOSED_SHAPE.exactActors && exactAnswers !== setCount) {
      missedGoals.push(`${size} actors: ${setCount - exactAnswers} answers are not exact`);
    }
    const redis = ofRedis.find((other) => other.size === size);
    return [
      size.toLocaleString('en'),
      `${setCount.toLocaleString('en')} ${isHashed ? 'hashed' : 'drawn'}`,
      percent(rmsError),
      percent(maxError),
      answerRmsError === null ? '' : percent(answerRmsError),
      exactAnswers === setCount ? 'yes' : 'no',
      redis === undefined ? '' : percent(redis.rmsError),
      redis === undefined ? '' : redis.setCount.toLocaleString('en'),
    ];
  });
  const headers = ['different actors', 'sets', 'RMS error', 'largest', 'RMS of the answer'];
  headers.push('exact', 'RMS of PFCOUNT', 'its sets');
  console.log(`\n${tableOf(headers, rows)}`);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(4)} %`;
}
