import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { type RunningTally, startTally } from '../../src/main.ts';
import { connectRedis } from '../../src/store/redis/connection.ts';
import { slotOfHashTag } from '../../src/store/redis/hash-slot.ts';
import { type RedisCluster, startCluster } from '../support/redis-cluster.ts';
import { answerOf } from '../support/tally.ts';
import { until } from '../support/until.ts';

const MEMBERS = 60;

let cluster: RedisCluster;
let tally: RunningTally;

beforeAll(async () => {
  cluster = await startCluster({
    primaries: 3,
    args: ['--cluster-require-full-coverage', 'no'],
  });
  const config = readConfig({ TALLY_PORT: '0', REDIS_URL: cluster.url });
  tally = await startTally(config, { logger: pino({ level: 'silent' }) });
});
afterAll(async () => {
  await tally?.close();
  await cluster?.stop();
});

function send(method: string, path: string, body: unknown): Promise<Response> {
  return fetch(`${tally.url}/v1/boards/${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

const get = (path: string) => answerOf(fetch(`${tally.url}/v1/boards/${path}`));

async function rows(): Promise<[number, string, number][]> {
  const { json } = await get(`final/top?fresh=true&k=${MEMBERS}`);
  const entries = json['entries'] as { rank: number; member: string; score: number }[];
  return entries.map(({ rank, member, score }) => [rank, member, score]);
}

/** Of every part of every board, the primary that it lies on. */
async function ownersOfParts(): Promise<string[]> {
  const connection = await connectRedis(cluster.url);
  try {
    const keys = await Promise.all(
      connection
        .primaries()
        .map(({ firstSlot }) =>
          connection.reads.send(firstSlot, (node) => node.keys('{b.*}:state')),
        ),
    );
    const tags = keys.flat().map((key) => /^\{(.*)\}/.exec(key)![1]!);
    return tags.map((tag) => connection.ownerOf(slotOfHashTag(tag))!);
  } finally {
    connection.close();
  }
}

describe('a board on a cluster', () => {
  test('splits over all primaries, evenly, and answers the same', async () => {
    const increments = Array.from({ length: MEMBERS }, (_, index) => ({
      member: `m${index}`,
      by: 1 + (index % 25),
      id: `first-${index}`,
    }));
    expect((await send('POST', 'final/scores', increments)).status).toBe(200);
    const before = await rows();
    for (const shards of [2, 4]) {
      expect((await send('PUT', 'final/shards', { shards })).status).toBe(202);
      await until('the move has ended', async () => {
        return (await get('final')).json['movingTo'] === undefined;
      });
      expect(await rows()).toEqual(before);
    }
    const owners = await ownersOfParts();
    expect(owners).toHaveLength(4);
    expect(new Set(owners).size).toBe(3);
    const again = await answerOf(send('POST', 'final/scores', increments));
    const results = again.json['results'] as { duplicate?: true }[];
    expect(results.every(({ duplicate }) => duplicate === true)).toBe(true);
    expect(await rows()).toEqual(before);
  });

  test('names the parts that are missing while a primary is down', async () => {
    const before = await rows();
    await (await cluster.primaryOf('{tally}:boards:documents')).kill();
    await until('an answer lacks a part', async () => {
      const { status, json } = await get('final/top?fresh=true&k=60');
      return status === 200 && json['partial'] === true;
    });
    const { json } = await get('final/top?fresh=true&k=60');
    const missing = json['missing'] as string[];
    expect(missing.length).toBeGreaterThan(0);
    expect(missing.every((name) => /^shard [0-3]$/.test(name))).toBe(true);
    const left = json['entries'] as { member: string; score: number }[];
    expect(left.length).toBeLessThan(MEMBERS);
    const known = new Map(before.map(([, member, score]) => [member, score]));
    for (const { member, score } of left) expect(score).toBe(known.get(member));
    expect(json['of']).toBe(left.length);
  });
});
