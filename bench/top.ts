/**
 * `npm run bench:top [-- --smoke] [-- --record]`: how fast the list of the top is read.
 *
 * Cold: a process that has just started, with empty caches, reads an hour of 60 closed minutes from
 * Redis; beside it, in the same Redis and the same rounds, the recipe of today: ZUNIONSTORE over 60
 * minute sets of the same events, and ZREVRANGE. Also over HTTP, as the first request of a server.
 * Warm: `/top?window=1h` by autocannon, in turns with an Express hello-world whose body is as long.
 * Answers are held against exact counts before anything is measured. Exits with 1 when a goal is
 * missed or an answer is wrong.
 */
import { Redis } from 'ioredis';
import { HOUR_MS } from '../src/streams/buckets.ts';
import {
  type CountedItem,
  type Events,
  type EventsOptions,
  ExactCounts,
  generateEvents,
} from './support/load-events.ts';
import type { LoadRequest, LoadResult } from './support/load-process.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import { ratiosOf, showSpread, type Spread, spreadOf } from './support/report-spread.ts';
import { type BenchServers, withServers } from './support/servers.ts';
import type { ExpressReply, ExpressRequest } from './support/servers-express-process.ts';
import type { ColdReply, ColdRequest } from './support/top-cold-process.ts';
import { fillRecipe, fillTally, RECIPE_MINUTES, RECIPE_PREFIX } from './support/top-fill.ts';

interface Scale {
  readonly events: EventsOptions;
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly connections: number;
}

const FULL: Scale = {
  events: {
    eventCount: 2_000_000,
    itemCount: 1_000_000,
    exponent: 1.05,
    actorCount: 2_000_000,
    seed: 2,
  },
  rounds: 7,
  secondsPerRound: 4,
  connections: 32,
};

const SMOKE: Scale = {
  events: { eventCount: 12_000, itemCount: 2_000, exponent: 1.05, actorCount: 4_000, seed: 2 },
  rounds: 1,
  secondsPerRound: 0.5,
  connections: 4,
};

const K = 10;
const GOAL_RATIO_COLD = 10;

interface Figures {
  readonly unionMs: number[];
  readonly coldMs: number[];
  readonly coldCpuMs: number[];
  readonly secondMs: number[];
  readonly httpMs: number[];
  readonly warmPerSecond: number[];
  readonly helloPerSecond: number[];
}

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:top [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;

console.log(`parameters ${JSON.stringify(scale)}`);
await withServers(async (servers) => {
  const events = generateEvents(scale.events);
  const truth = truthOf(events);
  const redis = await servers.redis();
  // An end within an hour, so that the hour before it is made of 60 minutes and no whole hour.
  const untilMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS / 2;
  await fillTally(redis.url, events, untilMs);
  const client = new Redis(redis.url);
  try {
    await fillRecipe(client, events);
    const figures = await measure(servers, client, { url: redis.url, untilMs, k: K }, truth);
    report(figures, truth);
  } finally {
    await client.quit();
  }
});

async function measure(
  servers: BenchServers,
  client: Redis,
  question: ColdRequest,
  truth: readonly CountedItem[],
): Promise<Figures> {
  const figures: Figures = {
    unionMs: [],
    coldMs: [],
    coldCpuMs: [],
    secondMs: [],
    httpMs: [],
    warmPerSecond: [],
    helloPerSecond: [],
  };
  await measureUnion(client, truth);
  for (let round = 0; round < scale.rounds; round += 1) {
    figures.unionMs.push(await measureUnion(client, truth));
    const cold = await measureCold(servers, question, truth);
    figures.coldMs.push(cold.coldMs);
    figures.coldCpuMs.push(cold.cpuMs);
    figures.secondMs.push(cold.warmMs);
    figures.httpMs.push(await measureHttp(servers, question, truth));
  }
  await measureWarm(servers, question.url, figures);
  return figures;
}

async function measureUnion(client: Redis, truth: readonly CountedItem[]): Promise<number> {
  const keys = Array.from({ length: RECIPE_MINUTES }, (_, minute) => `${RECIPE_PREFIX}${minute}`);
  const startMs = performance.now();
  await client.zunionstore('recipe:all', keys.length, ...keys);
  const flat = await client.zrevrange('recipe:all', 0, String(K - 1), 'WITHSCORES');
  const tookMs = performance.now() - startMs;
  await client.unlink('recipe:all');
  const counts = truth.map(({ count }) => String(count));
  const found = flat.filter((_, index) => index % 2 === 1);
  if (found.join() !== counts.join()) throw new Error(`ZUNIONSTORE gave ${flat.join()}`);
  return tookMs;
}

async function measureCold(
  servers: BenchServers,
  question: ColdRequest,
  truth: readonly CountedItem[],
): Promise<ColdReply> {
  const module = new URL('./support/top-cold-process.ts', import.meta.url);
  const child = servers.child<ColdRequest, ColdReply>(module);
  const reply = await child.call(question);
  await child.stop();
  expectTrue(reply.items, truth);
  return reply;
}

async function measureHttp(
  servers: BenchServers,
  { url, untilMs, k }: ColdRequest,
  truth: readonly CountedItem[],
): Promise<number> {
  const server = await servers.tally({ REDIS_URL: url, TALLY_ROLE: 'api' });
  const startMs = performance.now();
  const response = await fetch(`${server.url}/top?window=1h&until=${untilMs}&k=${k}`);
  const answer = (await response.json()) as { items: (CountedItem & { lower: number })[] };
  const tookMs = performance.now() - startMs;
  await server.kill();
  expectTrue(answer.items, truth);
  return tookMs;
}

/** The list is the true one, and each count lies within its bounds. */
function expectTrue(
  items: readonly (CountedItem & { readonly lower: number })[],
  truth: readonly CountedItem[],
): void {
  const wrong = truth.find(({ item, count }, index) => {
    const row = items[index];
    return row?.item !== item || row.lower > count || row.count < count;
  });
  if (wrong !== undefined) throw new Error(`the top is wrong at ${wrong.item}`);
}

async function measureWarm(servers: BenchServers, url: string, figures: Figures): Promise<void> {
  const server = await servers.tally({ REDIS_URL: url });
  const path = `${server.url}/top?window=1h`;
  const body = await (await fetch(path)).text();
  const support = (name: string): URL => new URL(`./support/${name}.ts`, import.meta.url);
  const express = servers.child<ExpressRequest, ExpressReply>(support('servers-express-process'));
  const hello = await express.call({ hello: body });
  const load = servers.child<LoadRequest, LoadResult>(support('load-process'));
  const perSecond = async (target: string): Promise<number> => {
    const { connections, secondsPerRound: seconds } = scale;
    const result = await load.call({ kind: 'get', url: target, seconds, connections });
    return result.answered / result.seconds;
  };
  await perSecond(path);
  await perSecond(hello.url);
  for (let round = 0; round < scale.rounds; round += 1) {
    figures.warmPerSecond.push(await perSecond(path));
    figures.helloPerSecond.push(await perSecond(hello.url));
  }
}

function truthOf({ items }: Events): CountedItem[] {
  const counts = new ExactCounts();
  counts.addAll(items);
  return counts.top(K);
}

function report(figures: Figures, truth: readonly CountedItem[]): void {
  const { unionMs, coldMs, coldCpuMs, secondMs, httpMs, warmPerSecond, helloPerSecond } = figures;
  const ratio = (samples: readonly number[]): Spread => spreadOf(ratiosOf(unionMs, samples));
  const row = (name: string, samples: readonly number[]): string[] => {
    return [name, showSpread(spreadOf(samples), 1), showSpread(ratio(samples), 1)];
  };
  const headers = ['one hour, 60 minutes', 'ms', 'times faster than ZUNIONSTORE'];
  const rows = [
    ['ZUNIONSTORE and ZREVRANGE', showSpread(spreadOf(unionMs), 1), ''],
    row('Tally, cold', coldMs),
    row('Tally, cold, CPU of the process', coldCpuMs),
    row('Tally, the same again', secondMs),
    row('Tally, first request of a server', httpMs),
  ];
  console.log(`\n${tableOf(headers, rows)}`);
  const warmRows = [
    ['/top?window=1h', showSpread(spreadOf(warmPerSecond), 0)],
    ['Express hello-world', showSpread(spreadOf(helloPerSecond), 0)],
    ['ratio', showSpread(spreadOf(ratiosOf(warmPerSecond, helloPerSecond)), 2)],
  ];
  console.log(`\n${tableOf(['warm, bodies of the same size', 'requests/s'], warmRows)}`);
  console.log('\nmedian [least..most] of the rounds; ratios are taken within each round');
  console.log(`answer ${JSON.stringify(truth)}`);
  console.log(`result ${hashOf({ scale, truth })}`);
  if (isRecorded) record('top', scale, figures);
  if (isSmoke) return;
  const isMet = ratio(coldMs).median >= GOAL_RATIO_COLD;
  console.log(`${isMet ? 'met' : 'missed'}: cold at least ${GOAL_RATIO_COLD} x ZUNIONSTORE`);
  if (!isMet) process.exitCode = 1;
}
