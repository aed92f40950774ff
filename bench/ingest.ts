/**
 * `npm run bench:ingest [-- --smoke] [-- --record]`: how many events a second get in through HTTP
 * and into a Redis that keeps an append-only file (everysec), beside what the same machine does in
 * the same run with the same bodies when they are only parsed (express.json), and by the recipe of
 * one ZINCRBY and one PFADD an event. Exits with 1 when a goal is missed or an answer is wrong.
 *
 * Every round measures every variant once, each round from another one on; whatever is not being
 * measured stands still. What Tally does beside taking events in (folding, compaction) goes on in
 * the same process, within its measurements.
 */
import { Redis } from 'ioredis';
import { TallyClient } from '../src/client/tally-client.ts';
import type { RedisServer } from '../test/support/redis-server.ts';
import type { TallyProcess } from '../test/support/tally-process.ts';
import { until } from '../test/support/until.ts';
import {
  type CountedItem,
  type EventsOptions,
  ExactCounts,
  generateEvents,
} from './support/load-events.ts';
import type { LoadRequest, LoadResult } from './support/load-process.ts';
import type { RecipeRequest, RecipeResult } from './support/load-recipe-process.ts';
import {
  type BatchLoad,
  parseVariant,
  type RecipeOptions,
  recipeVariant,
  type Sample,
  tallyVariant,
  type Variant,
  whileAwake,
} from './support/load-variants.ts';
import { hashOf, record, tableOf } from './support/report.ts';
import { ratiosOf, showSpread, type Spread, spreadOf } from './support/report-spread.ts';
import { type BenchServers, withServers } from './support/servers.ts';
import type { ExpressReply, ExpressRequest } from './support/servers-express-process.ts';

interface Scale {
  /** The batches hold the first of these events. */
  readonly events: EventsOptions;
  readonly batches: readonly BatchLoad[];
  /** Parsing is much faster than the rest: it gets everything so many times. */
  readonly parsePasses: number;
  /** As it stands, and with more than one pipeline under way. */
  readonly recipes: readonly [RecipeOptions, RecipeOptions];
  readonly rounds: number;
}

const FULL: Scale = {
  events: {
    eventCount: 400_000,
    itemCount: 1_000_000,
    exponent: 1.05,
    actorCount: 2_000_000,
    seed: 1,
  },
  batches: [
    { batchSize: 1, requestCount: 12_800, connections: 32, passes: 1 },
    { batchSize: 100, requestCount: 4_000, connections: 16, passes: 1 },
    { batchSize: 1_000, requestCount: 400, connections: 8, passes: 2 },
  ],
  parsePasses: 2,
  recipes: [
    { pipelineEvents: 100, inFlight: 1 },
    { pipelineEvents: 100, inFlight: 4 },
  ],
  rounds: 5,
};

const SMOKE: Scale = {
  events: { eventCount: 8_000, itemCount: 2_000, exponent: 1.05, actorCount: 4_000, seed: 1 },
  batches: [
    { batchSize: 1, requestCount: 64, connections: 4, passes: 1 },
    { batchSize: 100, requestCount: 40, connections: 4, passes: 1 },
    { batchSize: 1_000, requestCount: 8, connections: 4, passes: 2 },
  ],
  parsePasses: 1,
  recipes: [
    { pipelineEvents: 100, inFlight: 1 },
    { pipelineEvents: 100, inFlight: 4 },
  ],
  rounds: 1,
};

const GOAL_BATCH_SIZE = 1_000;
const GOAL_RATIO_TO_RECIPE = 5;
const RECIPE_TOP_PREFIX = 'recipe:top:';
const CHECKED_K = 10;
const ANSWER_DEADLINE_MS = 30_000;

interface Setup {
  readonly tally: TallyProcess;
  readonly tallyRedis: RedisServer;
  readonly recipeRedis: RedisServer;
  readonly variants: readonly Variant[];
  /** Exact counts of one round of all batches, and of one of the recipe. */
  readonly batchTruth: ExactCounts;
  readonly recipeTruth: ExactCounts;
}

interface Row {
  readonly name: string;
  readonly eventsPerSecond: Spread;
  readonly cpuMicroseconds: Spread;
  readonly foldSeconds: Spread | null;
  readonly ratioToParsing: Spread | null;
  readonly ratiosToRecipes: readonly Spread[];
}

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:ingest [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;

console.log(`parameters ${JSON.stringify(scale)}`);
await withServers(async (servers) => {
  const setup = await prepare(servers);
  // The first round is not shown: it warms everything up, and then the answers are looked at.
  await measureRound(setup.variants, 0);
  await checkAnswers(setup, 1);
  const rounds: Sample[][] = [];
  for (let round = 0; round < scale.rounds; round += 1) {
    rounds.push(await measureRound(setup.variants, round));
  }
  const top = await checkAnswers(setup, 1 + scale.rounds);
  report(rowsOf(setup.variants, rounds), top, rounds);
});

async function prepare(servers: BenchServers): Promise<Setup> {
  const redisOptions = { appendfsync: 'everysec' } as const;
  const [tallyRedis, recipeRedis] = await Promise.all([
    servers.redis(redisOptions),
    servers.redis(redisOptions),
  ]);
  const tally = await servers.tally({ REDIS_URL: tallyRedis.url });
  const load = servers.child<LoadRequest, LoadResult>(moduleUrl('load-process'));
  const recipe = servers.child<RecipeRequest, RecipeResult>(moduleUrl('load-recipe-process'));
  const parser = servers.child<ExpressRequest, ExpressReply>(moduleUrl('servers-express-process'));
  const { events } = scale;
  const [, , { url }] = await Promise.all([
    load.call({ kind: 'prepare', events }),
    recipe.call({ kind: 'prepare', url: recipeRedis.url, events, topPrefix: RECIPE_TOP_PREFIX }),
    parser.call({ hello: '' }),
  ]);
  const variants = scale.batches.flatMap((batch) => [
    tallyVariant(load, tally, tallyRedis, batch),
    parseVariant(load, { url, pid: parser.pid }, parsedOf(batch)),
  ]);
  for (const options of scale.recipes) {
    variants.push(recipeVariant(recipe, recipeRedis, events.eventCount, options));
  }
  return { tally, tallyRedis, recipeRedis, variants, ...truths() };
}

function parsedOf(batch: BatchLoad): BatchLoad {
  return { ...batch, passes: batch.passes * scale.parsePasses };
}

function truths(): Pick<Setup, 'batchTruth' | 'recipeTruth'> {
  const { items } = generateEvents(scale.events);
  const batchTruth = new ExactCounts();
  for (const { batchSize, requestCount, passes } of scale.batches) {
    batchTruth.addAll(items.subarray(0, batchSize * requestCount), passes);
  }
  const recipeTruth = new ExactCounts();
  recipeTruth.addAll(items, scale.recipes.length);
  return { batchTruth, recipeTruth };
}

async function measureRound(variants: readonly Variant[], round: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let turn = 0; turn < variants.length; turn += 1) {
    const index = (turn + round) % variants.length;
    samples[index] = await variants[index]!.measure();
  }
  return samples;
}

/**
 * Nothing may be missing, nothing counted twice, and the top must be the true one; returns what
 * Tally says is on top.
 */
async function checkAnswers(setup: Setup, rounds: number): Promise<readonly CountedItem[]> {
  const { tally, tallyRedis, recipeRedis, batchTruth, recipeTruth } = setup;
  const client = new TallyClient({ url: tally.url });
  const expectedTotal = batchTruth.total * rounds;
  const expectedTop = times(batchTruth.top(CHECKED_K), rounds);
  const answer = await whileAwake(tally, tallyRedis, async () => {
    const question = { stream: 'default', window: '1h', k: CHECKED_K };
    let last = await client.top(question);
    await until(
      `the total is that of all acknowledged events, ${expectedTotal}`,
      async () => {
        last = await client.top(question);
        return last.total === expectedTotal;
      },
      ANSWER_DEADLINE_MS,
    );
    return last;
  });
  const wrong = expectedTop.find(({ item, count }, index) => {
    const row = answer.items[index];
    return row?.item !== item || row.lower > count || row.upper < count;
  });
  if (wrong !== undefined) throw new Error(`Tally's top is wrong at ${wrong.item}`);
  const top = await topOfRecipe(recipeRedis);
  if (JSON.stringify(top) !== JSON.stringify(times(recipeTruth.top(CHECKED_K), rounds))) {
    throw new Error(`the recipe's top is wrong: ${JSON.stringify(top)}`);
  }
  return answer.items.map(({ item, count }) => ({ item, count }));
}

function times(top: readonly CountedItem[], factor: number): CountedItem[] {
  return top.map(({ item, count }) => ({ item, count: count * factor }));
}

/** Over all of its minutes. Items of equal count are in the order of every answer of Tally. */
async function topOfRecipe({ url }: RedisServer): Promise<CountedItem[]> {
  const redis = new Redis(url);
  try {
    const minutes = await redis.keys(`${RECIPE_TOP_PREFIX}*`);
    await redis.zunionstore('recipe:all', minutes.length, ...minutes);
    const flat = await redis.zrevrange('recipe:all', 0, 10 * CHECKED_K, 'WITHSCORES');
    await redis.del('recipe:all');
    const rows: CountedItem[] = [];
    for (let index = 0; index < flat.length; index += 2) {
      rows.push({ item: flat[index]!, count: Number(flat[index + 1]) });
    }
    rows.sort((a, b) => b.count - a.count || (a.item < b.item ? -1 : 1));
    return rows.slice(0, CHECKED_K);
  } finally {
    await redis.quit();
  }
}

function rowsOf(variants: readonly Variant[], rounds: readonly Sample[][]): Row[] {
  const rates = variants.map((_, index) => rounds.map((round) => round[index]!.eventsPerSecond));
  const recipeRates = rates.slice(-scale.recipes.length);
  return variants.map(({ name }, index) => {
    const samples = rounds.map((round) => round[index]!);
    const folds = samples.flatMap(({ foldSeconds }) => foldSeconds ?? []);
    // The variant after one of Tally is the parsing of the same bodies.
    const parsing = folds.length > 0 ? rates[index + 1]! : null;
    return {
      name,
      eventsPerSecond: spreadOf(rates[index]!),
      cpuMicroseconds: spreadOf(samples.map(({ cpuMicroseconds }) => cpuMicroseconds)),
      foldSeconds: folds.length > 0 ? spreadOf(folds) : null,
      ratioToParsing: parsing === null ? null : spreadOf(ratiosOf(rates[index]!, parsing)),
      ratiosToRecipes: recipeRates.map((recipe) => spreadOf(ratiosOf(rates[index]!, recipe))),
    };
  });
}

function report(
  rows: readonly Row[],
  top: readonly CountedItem[],
  rounds: readonly Sample[][],
): void {
  const headers = ['variant', 'events/s', 'to parsing', 'to the recipe', 'to it 4 at a time'];
  headers.push('CPU us/event', 's to fold the rest');
  const cells = rows.map((row) => [
    row.name,
    showSpread(row.eventsPerSecond, 0),
    row.ratioToParsing === null ? '' : showSpread(row.ratioToParsing, 2),
    ...row.ratiosToRecipes.map((ratio) => showSpread(ratio, 2)),
    showSpread(row.cpuMicroseconds, 1),
    row.foldSeconds === null ? '' : showSpread(row.foldSeconds, 1),
  ]);
  console.log(`\n${tableOf(headers, cells)}`);
  console.log('\nmedian [least..most] of the rounds; ratios are taken within each round');
  console.log(`answer ${JSON.stringify(top)}`);
  console.log(`result ${hashOf({ scale, items: top.map(({ item }) => item) })}`);
  if (isRecorded) record('ingest', scale, { rows, rounds });
  const goalName = `Tally, batches of ${GOAL_BATCH_SIZE}`;
  const ratio = rows.find(({ name }) => name === goalName)!.ratiosToRecipes[0]!.median;
  if (isSmoke) return;
  const isMet = ratio >= GOAL_RATIO_TO_RECIPE;
  console.log(`${isMet ? 'met' : 'missed'}: ${goalName} at least ${GOAL_RATIO_TO_RECIPE} x recipe`);
  if (!isMet) process.exitCode = 1;
}

function moduleUrl(name: string): URL {
  return new URL(`./support/${name}.ts`, import.meta.url);
}
