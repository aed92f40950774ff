/**
 * `npm run bench:windows [-- --smoke] [-- --record]`: what `/top` of a long history costs.
 *
 * Cold (a process that has just started, with empty caches) and warm (the same process again),
 * over an hour, a day, 30 days and 400 days: time, CPU time, and what Redis does for it. Beside it,
 * in the same rounds, over the hours and the day: ZUNIONSTORE over the minutes in the same Redis,
 * and a scan of the raw events in SQLite, with an index and without. Answers are held against exact
 * counts before anything is measured. Exits with 1 when a goal is missed or an answer is wrong.
 */
import { Redis } from 'ioredis';
import { DAY_MS, floorTo, HOUR_MS, MINUTE_MS } from '../src/streams/buckets.ts';
import type { CountedItem } from './support/load-events.ts';
import { type RedisWork, redisWorkOf } from './support/redis-work.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import { ratiosOf, showSpread, spreadOf } from './support/report-spread.ts';
import { type BenchServers, withServers } from './support/servers.ts';
import type { WindowsReply, WindowsRequest } from './support/windows-cold-process.ts';
import { fillRecipe, fillTally, minuteKey } from './support/windows-fill.ts';
import { History, type HistoryOptions } from './support/windows-history.ts';
import { EventsInSqlite } from './support/windows-sqlite.ts';

interface Scale {
  readonly history: HistoryOptions;
  readonly rounds: number;
  /** A scan takes long, and hardly varies. */
  readonly scanRounds: number;
  readonly warmUps: number;
  readonly warmTimes: number;
}

const ITEMS = { exponent: 1.05, actorCount: 2_000_000, seed: 3 };

/** 12 of 20 million events in the last day, 8 of them in a great last hour. */
const FULL: Scale = {
  history: { ...ITEMS, itemCount: 1_000_000, eras: erasOf(8_000_000, 4_000_000, 8_000_000) },
  rounds: 7,
  scanRounds: 3,
  warmUps: 20,
  warmTimes: 30,
};

const SMOKE: Scale = {
  history: { ...ITEMS, itemCount: 2_000, eras: erasOf(150, 250, 12_000) },
  rounds: 1,
  scanRounds: 1,
  warmUps: 1,
  warmTimes: 2,
};

interface Window {
  readonly name: string;
  readonly lengthMs: number;
  /** How long before the history's end it ends. */
  readonly agoMs: number;
  /** Also asked of the sorted sets and of SQLite. */
  readonly isCompared: boolean;
}

/** Of few events: the goals say nothing of it. */
const QUIET_HOUR = '1 h, quiet';

const WINDOWS: readonly Window[] = [
  { name: '1 h', lengthMs: HOUR_MS, agoMs: 0, isCompared: true },
  { name: QUIET_HOUR, lengthMs: HOUR_MS, agoMs: 12 * HOUR_MS, isCompared: true },
  { name: '24 h', lengthMs: DAY_MS, agoMs: 0, isCompared: true },
  { name: '30 d', lengthMs: 30 * DAY_MS, agoMs: 0, isCompared: false },
  { name: '400 d', lengthMs: 400 * DAY_MS, agoMs: 0, isCompared: false },
];

const K = 10;
const GOAL_TIMES_FASTER = 50;
const GOAL_MONTH_TO_HOUR = 10;
const GOAL_COLD_TO_WARM = 20;

const COST_HEADERS = ['/top', 'ms', 'CPU ms', 'Redis CPU ms', 'Redis commands', 'KB from Redis'];
const COMPARED_HEADERS = ['beside it', 'ms', 'to cold', 'to warm'];

interface Asked extends RedisWork {
  readonly wallMs: number;
  readonly clientCpuMs: number;
}

/** A sample for each round. */
interface WindowFigures {
  readonly cold: Asked[];
  readonly warm: Asked[];
  readonly unionMs: number[];
  readonly indexedMs: number[];
  readonly scanMs: number[];
}

interface Subjects {
  readonly servers: BenchServers;
  readonly redis: Redis;
  readonly redisUrl: string;
  readonly history: History;
  readonly sqlite: EventsInSqlite | null;
}

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:windows [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;
/** Exact answers by their times. */
const truths = new Map<string, readonly CountedItem[]>();

console.log(`parameters ${JSON.stringify(scale)}`);
await withServers(async (servers) => {
  const nowMs = Date.now();
  const history = new History(scale.history, lastOffHour(nowMs - MINUTE_MS));
  const server = await servers.redis();
  const redis = new Redis(server.url);
  try {
    await timed('Tally', () => fillTally(server.url, history, nowMs));
    await timed('sorted sets', () => fillRecipe(redis, history, history.untilMs - DAY_MS));
    const sqlite = await timed('SQLite', () => EventsInSqlite.fill(server.dir, history));
    if (sqlite === null) console.log('no sqlite3 here: no scans');
    const subjects = { servers, redis, redisUrl: server.url, history, sqlite };
    report(await measure(subjects));
  } finally {
    await redis.quit();
  }
});

/** An hour that ends then is made of 60 minutes and no whole hour: the worst case. */
function lastOffHour(timeMs: number): number {
  const hourMs = floorTo(timeMs, HOUR_MS);
  const minute = Math.floor((timeMs - hourMs) / MINUTE_MS);
  if (minute < 10) return hourMs - 10 * MINUTE_MS;
  return hourMs + Math.min(minute, 50) * MINUTE_MS;
}

function erasOf(before: number, day: number, hour: number): HistoryOptions['eras'] {
  return [
    { fromAgeMs: 400 * DAY_MS, toAgeMs: DAY_MS, eventCount: before },
    { fromAgeMs: DAY_MS, toAgeMs: HOUR_MS, eventCount: day },
    { fromAgeMs: HOUR_MS, toAgeMs: 0, eventCount: hour },
  ];
}

async function timed<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  const startMs = performance.now();
  const result = await work();
  console.log(`filled ${what} in ${Math.round((performance.now() - startMs) / 1_000)} s`);
  return result;
}

async function measure(subjects: Subjects): Promise<Map<Window, WindowFigures>> {
  const figures = new Map<Window, WindowFigures>(
    WINDOWS.map((window) => [
      window,
      { cold: [], warm: [], unionMs: [], indexedMs: [], scanMs: [] },
    ]),
  );
  for (let round = 0; round < scale.rounds; round += 1) {
    for (const [window, { cold, warm, unionMs, indexedMs, scanMs }] of figures) {
      const tally = await measureTally(subjects, window);
      cold.push(tally.cold);
      warm.push(tally.warm);
      if (!window.isCompared) continue;
      unionMs.push(await measureUnion(subjects, window));
      if (subjects.sqlite === null || round >= scale.scanRounds) continue;
      indexedMs.push(await measureScan(subjects, subjects.sqlite, window, true));
      scanMs.push(await measureScan(subjects, subjects.sqlite, window, false));
    }
  }
  return figures;
}

async function measureTally(
  { servers, redis, redisUrl, history }: Subjects,
  { lengthMs, agoMs }: Window,
): Promise<{ cold: Asked; warm: Asked }> {
  const module = new URL('./support/windows-cold-process.ts', import.meta.url);
  const child = servers.child<WindowsRequest, WindowsReply>(module);
  await child.call({ kind: 'open', url: redisUrl });
  const question = { kind: 'ask', lengthMs, untilMs: history.untilMs - agoMs, k: K } as const;
  const ask = async (times: number): Promise<Asked> => {
    const { result, redis: work } = await redisWorkOf(redis, () =>
      child.call({ ...question, times }),
    );
    expectTrue(result, truthOf(history, result.fromMs, result.toMs));
    return {
      wallMs: result.wallMs,
      clientCpuMs: result.cpuMs,
      commands: work.commands / times,
      cpuMs: work.cpuMs / times,
      sentBytes: work.sentBytes / times,
    };
  };
  const cold = await ask(1);
  await ask(scale.warmUps);
  const warm = await ask(scale.warmTimes);
  await child.stop();
  return { cold, warm };
}

function truthOf(history: History, fromMs: number, toMs: number): readonly CountedItem[] {
  const key = `${fromMs} ${toMs}`;
  const known = truths.get(key) ?? history.topBetween(fromMs, toMs, K);
  truths.set(key, known);
  return known;
}

/** The list is the true one, and each count lies within its bounds. */
function expectTrue({ items }: WindowsReply, truth: readonly CountedItem[]): void {
  const wrong = truth.find(({ item, count }, index) => {
    const row = items[index];
    return row?.item !== item || row.lower > count || row.count < count;
  });
  if (wrong !== undefined) throw new Error(`the top is wrong at ${wrong.item}`);
}

async function measureUnion(
  { redis, history }: Subjects,
  { lengthMs, agoMs }: Window,
): Promise<number> {
  const toMs = history.untilMs - agoMs;
  const fromMs = toMs - lengthMs;
  const keys = Array.from({ length: lengthMs / MINUTE_MS }, (_, minute) =>
    minuteKey(fromMs + minute * MINUTE_MS),
  );
  const startMs = performance.now();
  await redis.zunionstore('recipe:all', keys.length, ...keys);
  const flat = await redis.zrevrange('recipe:all', 0, String(K - 1), 'WITHSCORES');
  const tookMs = performance.now() - startMs;
  await redis.unlink('recipe:all');
  const counts = flat.filter((_, index) => index % 2 === 1);
  // Its items of equal counts are in another order.
  expectEqual(
    counts.map(Number),
    truthOf(history, fromMs, toMs).map(({ count }) => count),
  );
  return tookMs;
}

async function measureScan(
  { history }: Subjects,
  sqlite: EventsInSqlite,
  { lengthMs, agoMs }: Window,
  indexed: boolean,
): Promise<number> {
  const toMs = history.untilMs - agoMs;
  const fromMs = toMs - lengthMs;
  const { items, wallMs } = await sqlite.top(fromMs, toMs, K, indexed);
  expectEqual(items, truthOf(history, fromMs, toMs));
  return wallMs;
}

function expectEqual(found: unknown, truth: unknown): void {
  if (JSON.stringify(found) === JSON.stringify(truth)) return;
  throw new Error(`${JSON.stringify(found)} is not ${JSON.stringify(truth)}`);
}

function report(figures: ReadonlyMap<Window, WindowFigures>): void {
  console.log(`\n${tableOf(COST_HEADERS, costRows(figures))}`);
  console.log(`\n${tableOf(COMPARED_HEADERS, comparedRows(figures))}`);
  console.log('\nmedian [least..most] of the rounds; ratios are taken within each round');
  // That of the last hour; those of long windows depend on how far their edges are widened.
  const [truth] = truths.values();
  console.log(`answer ${JSON.stringify(truth)}`);
  console.log(`result ${hashOf({ scale, truth })}`);
  const named = [...figures].map(([{ name }, samples]) => ({ name, ...samples }));
  if (isRecorded) record('windows', scale, named);
  if (!isSmoke) judge(figures);
}

function costRows(figures: ReadonlyMap<Window, WindowFigures>): string[][] {
  const row = (name: string, asked: readonly Asked[]): string[] => {
    const show = (valueOf: (one: Asked) => number, digits: number): string =>
      showSpread(spreadOf(asked.map(valueOf)), digits);
    const median = (valueOf: (one: Asked) => number): string =>
      Math.round(spreadOf(asked.map(valueOf)).median).toLocaleString('en');
    return [
      name,
      show(({ wallMs }) => wallMs, 1),
      show(({ clientCpuMs }) => clientCpuMs, 1),
      show(({ cpuMs }) => cpuMs, 1),
      median(({ commands }) => commands),
      median(({ sentBytes }) => sentBytes / 1_000),
    ];
  };
  return [...figures].flatMap(([{ name }, { cold, warm }]) => [
    row(`${name}, cold`, cold),
    row(`${name}, warm`, warm),
  ]);
}

function comparedRows(figures: ReadonlyMap<Window, WindowFigures>): string[][] {
  return [...figures].flatMap(([{ name }, { cold, warm, unionMs, indexedMs, scanMs }]) => {
    const row = (what: string, samples: readonly number[]): string[] => {
      const ratio = (asked: readonly Asked[]): string =>
        showSpread(spreadOf(ratiosOf(samples, wallsOf(asked))), 1);
      return [`${name}, ${what}`, showSpread(spreadOf(samples), 0), ratio(cold), ratio(warm)];
    };
    const rows: [what: string, samples: readonly number[]][] = [
      ['ZUNIONSTORE and ZREVRANGE', unionMs],
      ['SQLite, index on time', indexedMs],
      ['SQLite, full scan', scanMs],
    ];
    return rows.filter(([, { length }]) => length > 0).map(([what, samples]) => row(what, samples));
  });
}

function wallsOf(asked: readonly Asked[]): number[] {
  return asked.map(({ wallMs }) => wallMs);
}

function judge(figures: ReadonlyMap<Window, WindowFigures>): void {
  const goal = (what: string, isMet: boolean): void => {
    console.log(`${isMet ? 'met' : 'missed'}: ${what}`);
    if (!isMet) process.exitCode = 1;
  };
  const [hour, , , month] = [...figures.values()];
  const median = (samples: readonly number[], baseline: readonly number[]): number =>
    samples.length === 0 ? 0 : spreadOf(ratiosOf(samples, baseline)).median;
  const coldHour = wallsOf(hour!.cold);
  for (const [name, samples] of [
    ['ZUNIONSTORE', hour!.unionMs],
    ['SQLite with an index', hour!.indexedMs],
    ['SQLite by a full scan', hour!.scanMs],
  ] as const) {
    const isMet = median(samples, coldHour) >= GOAL_TIMES_FASTER;
    goal(`1 h cold at least ${GOAL_TIMES_FASTER} times faster than ${name}`, isMet);
  }
  const isMonthMet = median(wallsOf(month!.cold), coldHour) <= GOAL_MONTH_TO_HOUR;
  goal(`30 d cold at most ${GOAL_MONTH_TO_HOUR} times the cost of 1 h cold`, isMonthMet);
  for (const [{ name }, { cold, warm }] of figures) {
    if (name === QUIET_HOUR) continue;
    const isMet = median(wallsOf(cold), wallsOf(warm)) >= GOAL_COLD_TO_WARM;
    goal(`${name} warm at most 1/${GOAL_COLD_TO_WARM} of cold`, isMet);
  }
}
