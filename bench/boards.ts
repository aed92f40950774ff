/**
 * `npm run bench:boards [-- --smoke] [-- --record]`: boards of 2 million members over HTTP, on
 * one part and on four over a cluster of three primaries, beside redis-benchmark's ZINCRBY and
 * plain Express handlers on a sorted set of the same members, in the same run. Exits with 1 when a
 * goal is missed or an answer is wrong.
 *
 * Answers are checked before anything is timed. Every round measures every variant once, each round
 * from another one on; whatever is not being measured stands still.
 */
import { Redis } from 'ioredis';
import { type RedisCluster, startCluster } from '../test/support/redis-cluster.ts';
import { until } from '../test/support/until.ts';
import type { BoardLoadRequest, BoardLoadResult } from './support/board-load-process.ts';
import { memberName, rankOfMember, scoreOfMember } from './support/board-members.ts';
import type { PlainReply, PlainRequest } from './support/board-plain-process.ts';
import { measureReads, type Place } from './support/board-reads.ts';
import { measureWrites, type WritePlace } from './support/board-writes.ts';
import { record } from './support/report.ts';
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
  const places: WritePlace[] = [];
  const inOne = { serverPids: [one.pid], redisPids: [redis.pid], factor: GOALS.reads.one };
  const clusterPids = cluster.nodes.map(({ pid }) => pid);
  const inFour = { serverPids: [four.pid], redisPids: clusterPids, factor: GOALS.reads.four };
  for (const ties of TIES) {
    const before = await usedMemory(client);
    await makeBoard(one.url, ties, 1);
    await fillBoard((request) => load.call(request), `${one.url}/v1/boards/${ties}/scores`);
    bytes.set(ties, ((await usedMemory(client)) - before) / scale.members);
    await makeBoard(four.url, ties, PARTS);
    await fillBoard((request) => load.call(request), `${four.url}/v1/boards/${ties}/scores`);
    const [path, toRaw] = [`/v1/boards/${ties}`, GOALS[ties]];
    places.push({ ...inOne, name: `1 part, ${ties}`, url: one.url + path, toRaw });
    places.push({ ...inFour, name: `${PARTS} parts, ${ties}`, url: four.url + path, toRaw });
  }
  for (const place of places) await checkAnswers(place);
  const ask = (request: BoardLoadRequest): Promise<BoardLoadResult> => load.call(request);
  const common = { ask, places, goalOf, key: RAW_KEY };
  const reads = await measureReads({ ...common, ...scale, plainUrl, client });
  const writes = await measureWrites({
    ...{ ...common, ...scale, redis, toPlain: GOALS.plain },
    plain: { url: plainUrl, pid: plain.pid },
  });
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
