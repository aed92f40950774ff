/** What bench:ingest compares: each variant takes a number of events in and says what it took. */
import type { RedisServer } from '../../test/support/redis-server.ts';
import type { TallyProcess } from '../../test/support/tally-process.ts';
import { until } from '../../test/support/until.ts';
import type { LoadRequest, LoadResult } from './load-process.ts';
import type { RecipeRequest, RecipeResult } from './load-recipe-process.ts';
import { cpuSecondsOf } from './servers.ts';
import type { BenchChild } from './servers-child.ts';

export interface Sample {
  readonly eventsPerSecond: number;
  /** Of the server or client and of its Redis, in microseconds an event. */
  readonly cpuMicroseconds: number;
  /** From the last answer until all is folded; null where nothing is folded. */
  readonly foldSeconds: number | null;
}

export interface Variant {
  readonly name: string;
  readonly measure: () => Promise<Sample>;
}

export interface BatchLoad {
  readonly batchSize: number;
  readonly requestCount: number;
  readonly connections: number;
  /** How often each request is sent. */
  readonly passes: number;
}

const FOLD_DEADLINE_MS = 60_000;
const MICROSECONDS_PER_SECOND = 1e6;
const BACKLOG_LINE = /^tally_backlog_entries\{[^}]*\} (\d+)$/gm;

export function tallyVariant(
  load: BenchChild<LoadRequest, LoadResult>,
  tally: TallyProcess,
  redis: RedisServer,
  batch: BatchLoad,
): Variant {
  const pids = [tally.pid, redis.pid];
  return {
    name: `Tally, batches of ${batch.batchSize}`,
    measure: () =>
      whileAwake(tally, redis, async () => {
        const cpuBefore = cpuSecondsOf(pids);
        const { answered, seconds } = await load.call(postOf(batch, tally.url));
        const answeredAtMs = performance.now();
        await untilFolded(tally);
        const foldSeconds = (performance.now() - answeredAtMs) / 1000;
        const eventCount = answered * batch.batchSize;
        return { ...ratesOf(eventCount, seconds, cpuSecondsOf(pids) - cpuBefore), foldSeconds };
      }),
  };
}

export function parseVariant(
  load: BenchChild<LoadRequest, LoadResult>,
  server: { readonly url: string; readonly pid: number },
  batch: BatchLoad,
): Variant {
  return {
    name: `only parsed, batches of ${batch.batchSize}`,
    measure: async () => {
      const cpuBefore = cpuSecondsOf([server.pid]);
      const { answered, seconds } = await load.call(postOf(batch, server.url));
      const cpuSeconds = cpuSecondsOf([server.pid]) - cpuBefore;
      return { ...ratesOf(answered * batch.batchSize, seconds, cpuSeconds), foldSeconds: null };
    },
  };
}

export interface RecipeOptions {
  readonly pipelineEvents: number;
  /** How many pipelines are under way at a time. */
  readonly inFlight: number;
}

export function recipeVariant(
  recipe: BenchChild<RecipeRequest, RecipeResult>,
  redis: RedisServer,
  eventCount: number,
  { pipelineEvents, inFlight }: RecipeOptions,
): Variant {
  const pids = [recipe.pid, redis.pid];
  return {
    name: `recipe, pipelines of ${pipelineEvents}, ${inFlight} at a time`,
    measure: async () => {
      const cpuBefore = cpuSecondsOf(pids);
      const { seconds } = await recipe.call({ kind: 'run', pipelineEvents, inFlight });
      const cpuSeconds = cpuSecondsOf(pids) - cpuBefore;
      return { ...ratesOf(eventCount, seconds, cpuSeconds), foldSeconds: null };
    },
  };
}

/** Between its own measurements Tally stands still: what it owes, it pays within them. */
export async function whileAwake<Result>(
  tally: TallyProcess,
  redis: RedisServer,
  work: () => Promise<Result>,
): Promise<Result> {
  await redis.kill('SIGCONT');
  tally.signal('SIGCONT');
  try {
    return await work();
  } finally {
    tally.signal('SIGSTOP');
    await redis.kill('SIGSTOP');
  }
}

async function untilFolded({ url }: TallyProcess): Promise<void> {
  const isFolded = async (): Promise<boolean> => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const waiting = [...metrics.matchAll(BACKLOG_LINE)].map(([, entries]) => Number(entries));
    return waiting.length > 0 && waiting.every((entries) => entries === 0);
  };
  await until('everything is folded', isFolded, FOLD_DEADLINE_MS);
}

function postOf(batch: BatchLoad, url: string): LoadRequest {
  return { kind: 'post', url: `${url}/v1/events`, ...batch };
}

function ratesOf(
  eventCount: number,
  seconds: number,
  cpuSeconds: number,
): Omit<Sample, 'foldSeconds'> {
  return {
    eventsPerSecond: eventCount / seconds,
    cpuMicroseconds: (MICROSECONDS_PER_SECOND * cpuSeconds) / eventCount,
  };
}
