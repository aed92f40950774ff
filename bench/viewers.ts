/**
 * `npm run bench:viewers [-- --smoke] [-- --record]`: is the top by actors as close to the truth as
 * docs/accuracy.md says? Exits with 1 when a goal is missed. Figures depend on seeds only, never on
 * the machine; nothing here measures time.
 */
import { CLOSED_SHAPE } from '../src/sketches/summary.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import {
  measureViewers,
  type ViewersFigures,
  type ViewersOptions,
  type ViewersReadFigures,
} from './support/viewers-accuracy.ts';

interface Scale {
  readonly options: Omit<ViewersOptions, 'partitionCount'>;
  readonly partitionCounts: readonly number[];
  readonly seeds: readonly number[];
}

const FULL: Scale = {
  options: {
    eventCount: 3_000_000,
    itemCount: 200_000,
    actorCount: 300_000,
    minuteCount: 60,
    batchSize: 1_000,
    botCount: 10,
    botShare: 0.05,
    k: 100,
  },
  partitionCounts: [1, 6],
  seeds: [1, 2, 3, 4, 5],
};

const SMOKE: Scale = {
  options: { ...FULL.options, eventCount: 120_000, minuteCount: 4, k: 50 },
  partitionCounts: [1, 2],
  seeds: [1],
};

const RECALL_GOAL = 0.95;
const RMS_GOAL = 0.035;
const WITHIN_GOAL = 0.95;

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:viewers [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;
const missedGoals: string[] = [];

console.log(`parameters ${JSON.stringify(scale)}`);
const runs = scale.partitionCounts.map((partitionCount) => ({
  partitionCount,
  figures: scale.seeds.map((seed) => measureViewers({ ...scale.options, partitionCount }, seed)),
}));
const headers = ['partitions', 'read from', `recall@${scale.options.k}`, 'RMS error', 'in bounds'];
headers.push('violations', 'maxUnlisted too high', 'viewers, bytes each', 'at most');
const rows = runs.flatMap(({ partitionCount, figures }) => [
  rowOf(partitionCount, 'minutes', figures),
  rowOf(partitionCount, 'hour', figures),
]);
console.log(`\n${tableOf(headers, rows)}`);
console.log(`\nresult ${hashOf(runs)}`);
if (isRecorded) record('viewers', scale, runs);
for (const goal of missedGoals) console.log(`missed: ${goal}`);
console.log(missedGoals.length === 0 ? 'all goals are met' : `${missedGoals.length} goals missed`);
process.exitCode = missedGoals.length === 0 ? 0 : 1;

/** The worst seed of each figure, so that a mean hides nothing; "in bounds" over all of them. */
function rowOf(
  partitionCount: number,
  read: keyof ViewersFigures,
  figures: readonly ViewersFigures[],
): string[] {
  const reads = figures.map((each) => each[read]);
  const all = (value: (each: ViewersReadFigures) => number): number[] => reads.map(value);
  const recall = Math.min(...all((each) => each.recall));
  const rmsError = Math.max(...all((each) => each.rmsError));
  const within = meanOf(all((each) => each.within));
  const violations = all((each) => each.violations).reduce((sum, count) => sum + count, 0);
  const maxBytes = Math.max(...all((each) => each.maxBytes));
  const name = `${partitionCount} partitions, ${read}`;
  if (recall < RECALL_GOAL) missedGoals.push(`${name}: recall is ${recall}`);
  if (rmsError > RMS_GOAL) missedGoals.push(`${name}: the RMS error is ${percent(rmsError)}`);
  if (within < WITHIN_GOAL) missedGoals.push(`${name}: ${percent(within)} are in their bounds`);
  if (violations > 0) missedGoals.push(`${name}: ${violations} items beyond maxUnlisted, or bots`);
  if (maxBytes > CLOSED_SHAPE.viewerBytes) missedGoals.push(`${name}: ${maxBytes} bytes`);
  return [
    String(partitionCount),
    read === 'minutes' ? 'minutes' : 'the hour',
    recall.toFixed(2),
    percent(rmsError),
    percent(within),
    String(violations),
    percent(Math.max(...all((each) => each.slack))),
    Math.round(meanOf(all((each) => each.meanBytes))).toLocaleString('en'),
    maxBytes.toLocaleString('en'),
  ];
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
