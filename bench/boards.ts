/**
 * `npm run bench:boards [-- --smoke] [-- --record]`: leaderboards of 2 million members over HTTP, on
 * one part and on four over a cluster of three primaries, beside redis-benchmark's ZINCRBY and
 * plain Express handlers on a sorted set of the same members, in the same run. Exits with 1 when a
 * goal is missed or an answer is wrong.
 *
 * Answers are checked before anything is timed. Every round measures every variant once, each round
 * from another one on; whatever is not being measured stands still.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { type RedisCluster, startCluster } from '../test/support/redis-cluster.ts';
import { until } from '../test/support/until.ts';
import type { BoardLoadRequest, BoardLoadResult } from './support/board-load-process.ts';
import { memberName, rankOfMember, scoreOfMember } from './support/board-members.ts';
import type { PlainReply, PlainRequest } from './support/board-plain-process.ts';
import { measureReads, type Place } from './support/board-reads.ts';
import { record, tableOf } from './support/report.ts';
import { ratiosOf, showSpread, type Spread, spreadOf } from './support/report-spread.ts';
import { type BenchServers, withServers } from './support/servers.ts';

interface Scale {
  readonly members: number;
  /** Of 100 increments each, a round and variant. */
  readonly requests: number;
  /** Of one increment each, to the plain handler. */
  readonly singles: number;
  readonly rawCommands: number;
  readonly reads: number;
  readonly rounds: number;
}

const FULL: Scale = {
  members: 2_000_000,
  requests: 600,
  singles: 6_000,
  rawCommands: 100_000,
  reads: 300,
  rounds: 5,
};
const SMOKE: Scale = {
  members: 2_000,
  requests: 10,
  singles: 50,
  rawCommands: 2_000,
  reads: 10,
  rounds: 1,
};

const BATCH_SIZE = 100;
const CONNECTIONS = 8;
const SINGLE_CONNECTIONS = 32;
const PARTS = 4;
const RAW_KEY = 'raw';
const RAW_FILL = 1_000;
/** As many as surely fit into the time that a process may take for an answer. */
const FILL_SLICE = 250_000;
const GOALS = {
  competition: 0.4,
  earliest: 0.25,
  plain: 3,
  reads: { one: 10, four: 25 },
} as const;
const TIES = ['competition', 'earliest'] as const;
const MOVE_MS = 60_000;

const flags = new Set(process.argv.slice(2));
const isSmoke = flags.delete('--smoke');
const isRecorded = flags.delete('--record');
if (flags.size > 0) {
  console.error('usage: npm run bench:boards [-- --smoke] [-- --record]');
  process.exit(2);
}
const scale = isSmoke ? SMOKE : FULL;
let missed = 0;

console.log(`parameters ${JSON.stringify(scale)}`);
await withServers(async (servers) => {
  const cluster = await startCluster({ primaries: 3 });
  try {
    await measure(servers, cluster);
  } finally {
    await cluster.stop();
  }
});
process.exitCode = missed === 0 ? 0 : 1;

async function measure(servers: BenchServers, cluster: RedisCluster): Promise<void> {
  const redis = await servers.redis();
  const client = new Redis({ port: redis.port, host: '127.0.0.1' });
  const limits = { TALLY_MAX_PART_IDS: '50000000' };
  const [one, four] = await Promise.all([
    servers.tally({ ...limits, REDIS_URL: redis.url }),
    servers.tally({ ...limits, REDIS_URL: cluster.url }),
  ]);
  const load = servers.child<BoardLoadRequest, BoardLoadResult>(
    new URL('support/board-load-process.ts', import.meta.url),
  );
  const plain = servers.child<PlainRequest, PlainReply>(
    new URL('support/board-plain-process.ts', import.meta.url),
  );
  const { url: plainUrl } = await plain.call({ redisPort: redis.port, key: RAW_KEY });
  const empty = await usedMemory(client);
  await fillRaw(client);
  const plainBytes = ((await usedMemory(client)) - empty) / scale.members;
  const bytes = new Map([['plain sorted set', plainBytes]]);
  const places: Place[] = [];
  for (const ties of TIES) {
    const before = await usedMemory(client);
    await makeBoard(one.url, ties, 1);
    await fillBoard((request) => load.call(request), `${one.url}/v1/boards/${ties}/scores`);
    bytes.set(ties, ((await usedMemory(client)) - before) / scale.members);
    await makeBoard(four.url, ties, PARTS);
    await fillBoard((request) => load.call(request), `${four.url}/v1/boards/${ties}/scores`);
    const path = `/v1/boards/${ties}`;
    const { reads: factors } = GOALS;
    places.push({ name: `1 part, ${ties}`, url: one.url + path, factor: factors.one });
    places.push({ name: `${PARTS} parts, ${ties}`, url: four.url + path, factor: factors.four });
  }
  for (const place of places) await checkAnswers(place);
  const ask = (request: BoardLoadRequest): Promise<BoardLoadResult> => load.call(request);
  const { members, rounds } = scale;
  const reads = await measureReads({
    ...{ ask, places, plainUrl, client, goalOf },
    ...{ key: RAW_KEY, members, rounds, reads: scale.reads },
  });
  const writes = await measureWrites(ask, places, plainUrl, redis.port);
  const memory = [...bytes].map(([name, perMember]) => `${name} ${perMember.toFixed(0)}`);
  console.log(`\nmemory: bytes a member, Redis's used_memory: ${memory.join(', ')}`);
  if (isRecorded) record('boards', scale, { reads, writes, bytes: [...bytes] });
  client.disconnect();
}

async function fillBoard(
  ask: (request: BoardLoadRequest) => Promise<BoardLoadResult>,
  url: string,
): Promise<void> {
  const { members } = scale;
  for (let first = 0; first < members; first += FILL_SLICE) {
    await ask({ kind: 'fill', url, members, first, count: FILL_SLICE });
  }
}

async function fillRaw(client: Redis): Promise<void> {
  for (let first = 0; first < scale.members; first += RAW_FILL) {
    const length = Math.min(RAW_FILL, scale.members - first);
    const pairs = Array.from({ length }, (_, index) => [
      scoreOfMember(first + index, scale.members),
      memberName(first + index),
    ]);
    await client.zadd(RAW_KEY, ...(pairs.flat() as [number, string]));
  }
}

async function usedMemory(client: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))![1]);
}

async function makeBoard(url: string, board: string, parts: number): Promise<void> {
  await sendJson(`${url}/v1/boards/${board}`, { ties: board });
  for (let shards = 2; shards <= parts; shards *= 2) {
    await sendJson(`${url}/v1/boards/${board}/shards`, { shards });
    await until(
      'the move has ended',
      async () => {
        const answer = (await getJson(`${url}/v1/boards/${board}`)) as { movingTo?: number };
        return answer.movingTo === undefined;
      },
      MOVE_MS,
    );
  }
}

/** The rank of some members, and a page in the middle, are known without looking. */
async function checkAnswers({ name, url }: Place): Promise<void> {
  const { members } = scale;
  for (const index of [0, 1, Math.floor(members / 3), members - 1]) {
    const answer = await getJson(`${url}/members/${encodeURIComponent(memberName(index))}`);
    const { rank, score } = answer as { rank: number; score: number };
    const isRight =
      rank === rankOfMember(index, members) && score === scoreOfMember(index, members);
    if (!isRight) throw new Error(`${name}: ${memberName(index)} has rank ${rank}`);
  }
  const offset = Math.floor(members / 2);
  const page = (await getJson(`${url}/top?fresh=true&offset=${offset}`)) as {
    of: number;
    entries: { rank: number; score: number }[];
  };
  const isRight = page.entries.every(
    ({ rank, score }, index) => rank === offset + index + 1 && score === members - offset - index,
  );
  if (page.of !== members || page.entries.length !== 10 || !isRight) {
    throw new Error(`${name}: the page at ${offset} is wrong`);
  }
}

async function measureWrites(
  ask: (request: BoardLoadRequest) => Promise<BoardLoadResult>,
  places: readonly Place[],
  plainUrl: string,
  port: number,
): Promise<Record<string, Spread>> {
  const { members } = scale;
  const post = async (url: string, isSingle: boolean, seed: number): Promise<number> => {
    const result = await ask({
      ...{ kind: 'post', url, members, seed },
      batchSize: isSingle ? 1 : BATCH_SIZE,
      requestCount: isSingle ? scale.singles : scale.requests,
      connections: isSingle ? SINGLE_CONNECTIONS : CONNECTIONS,
    });
    return result.perSecond;
  };
  const variants: { name: string; run: (seed: number) => Promise<number> }[] = [
    { name: `redis-benchmark ZINCRBY, -P ${BATCH_SIZE}`, run: () => rawPerSecond(port) },
    {
      name: 'plain Express, one ZINCRBY each',
      run: (seed) => post(`${plainUrl}/increment`, true, seed),
    },
    ...places.map(({ name, url }) => ({
      name,
      run: (seed: number) => post(`${url}/scores`, false, seed),
    })),
  ];
  const samples = variants.map((): number[] => []);
  // The first round is not shown: it warms everything up.
  for (let round = -1; round < scale.rounds; round += 1) {
    for (let step = 0; step < variants.length; step += 1) {
      const at = (step + round + 1) % variants.length;
      const perSecond = await variants[at]!.run(100 * (round + 2) + at);
      if (round >= 0) samples[at]!.push(perSecond);
    }
  }
  const rows = variants.map(({ name }, index) => {
    const toRaw = spreadOf(ratiosOf(samples[index]!, samples[0]!));
    const toPlain = spreadOf(ratiosOf(samples[index]!, samples[1]!));
    const ties = TIES.find((rule) => name.endsWith(rule));
    const least = ties === undefined ? null : GOALS[ties];
    const goals =
      least === null
        ? ['', '']
        : [
            goalOf(toRaw.median >= least, `>= ${least}`),
            goalOf(toPlain.median >= GOALS.plain, `>= ${GOALS.plain}`),
          ];
    const perSecond = showSpread(spreadOf(samples[index]!), 0);
    return [
      ...[name, perSecond, showSpread(toRaw, 2), goals[0]!],
      ...[showSpread(toPlain, 1), goals[1]!],
    ];
  });
  console.log(`\nincrements, batches of ${BATCH_SIZE} with ids, ${CONNECTIONS} connections\n`);
  const headers = ['writes', 'increments/s', 'to raw', 'goal', 'to plain Express', 'goal'];
  console.log(tableOf(headers, rows));
  return Object.fromEntries(variants.map(({ name }, at) => [name, spreadOf(samples[at]!)]));
}

async function rawPerSecond(port: number): Promise<number> {
  const { stdout } = await promisify(execFile)('redis-benchmark', [
    ...['-h', '127.0.0.1', '-p', String(port), '-P', String(BATCH_SIZE), '-c', String(CONNECTIONS)],
    ...['-n', String(scale.rawCommands), '-r', String(scale.members), '--csv'],
    ...['ZINCRBY', RAW_KEY, '1', 'user:__rand_int__'],
  ]);
  const line = stdout.split('\n').find((text) => text.includes('user:'));
  return Number(/","([\d.]+)"/.exec(line ?? '')![1]);
}

function goalOf(isMet: boolean, goal: string): string {
  if (!isMet && !isSmoke) missed += 1;
  return `${goal}: ${isMet ? 'met' : 'missed'}`;
}

async function sendJson(url: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

async function getJson(url: string): Promise<unknown> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}
