/**
 * What reads of boards cost, one after the other, beside plain commands on a sorted set of the same
 * members: both as they are sent to Redis, and behind a bare Express handler.
 */
import type { Redis } from 'ioredis';
import type { BoardLoadRequest, BoardLoadResult } from './board-load-process.ts';
import { memberName } from './board-members.ts';
import { tableOf } from './report.ts';
import { ratiosOf, showSpread, type Spread, spreadOf } from './report-spread.ts';

export interface Place {
  readonly name: string;
  readonly url: string;
  /** How many times ZREVRANGE 0 9 a read may take, whatever it asks. */
  readonly factor: number;
}

export interface BoardReadsOptions {
  readonly ask: (request: BoardLoadRequest) => Promise<BoardLoadResult>;
  readonly places: readonly Place[];
  readonly plainUrl: string;
  readonly client: Redis;
  /** Of the sorted set that the plain commands read. */
  readonly key: string;
  readonly members: number;
  readonly reads: number;
  readonly rounds: number;
  readonly goalOf: (isMet: boolean, goal: string) => string;
}

export interface ReadFigures {
  readonly p50: Spread;
  readonly p99: Spread;
}

interface Variant {
  readonly name: string;
  readonly factor: number | null;
  /** The time of each read, in ms. */
  readonly run: () => Promise<readonly number[]>;
}

interface Samples {
  readonly p50: number[];
  readonly p99: number[];
}

const NAMES = 50;
/** Prime, so that the members lie all over the board. */
const NAME_STRIDE = 31_337;
/** Places among the variants of the two that others are compared with. */
const RAW = 0;
const THROUGH_HTTP = 2;

export async function measureReads(
  options: BoardReadsOptions,
): Promise<Record<string, ReadFigures>> {
  const { rounds, goalOf } = options;
  const variants = [...plainVariants(options), ...boardVariants(options)];
  const samples = variants.map((): Samples => ({ p50: [], p99: [] }));
  // The first round is not shown: it warms everything up.
  for (let round = -1; round < rounds; round += 1) {
    for (let step = 0; step < variants.length; step += 1) {
      const at = (step + round + 1) % variants.length;
      const sorted = [...(await variants[at]!.run())].sort((a, b) => a - b);
      if (round < 0) continue;
      samples[at]!.p50.push(sorted[Math.floor(sorted.length / 2)]!);
      samples[at]!.p99.push(sorted[Math.floor(sorted.length * 0.99)]!);
    }
  }
  const rows = variants.map(({ name, factor }, index) => {
    const { p50, p99 } = samples[index]!;
    const toHttp = spreadOf(ratiosOf(p50, samples[THROUGH_HTTP]!.p50));
    const toRaw = spreadOf(ratiosOf(p50, samples[RAW]!.p50));
    const goals =
      factor === null
        ? ['', '']
        : [
            goalOf(toHttp.median <= factor, `<= ${factor}`),
            toRaw.median <= factor ? 'met' : 'missed',
          ];
    const times = [spreadOf(p50), spreadOf(p99)].map((spread) => showSpread(spread, 2));
    return [name, ...times, showSpread(toHttp, 1), goals[0]!, showSpread(toRaw, 1), goals[1]!];
  });
  console.log('\nreads, one after the other, in ms; ratios are of p50, to ZREVRANGE 0 9');
  console.log('the goal is judged by the ratio to it behind Express: both go through HTTP\n');
  const headers = ['read', 'p50', 'p99', 'to it behind Express', 'goal', 'to it raw', 'by that'];
  console.log(tableOf(headers, rows));
  return Object.fromEntries(
    variants.map(({ name }, index) => {
      const { p50, p99 } = samples[index]!;
      return [name, { p50: spreadOf(p50), p99: spreadOf(p99) }];
    }),
  );
}

function plainVariants(options: BoardReadsOptions): Variant[] {
  const { client, key, plainUrl, reads } = options;
  const names = namesOf(options);
  const escaped = names.map(encodeURIComponent);
  return [
    {
      name: 'raw ZREVRANGE 0 9',
      factor: null,
      run: () => timesOf(reads, () => client.zrevrange(key, 0, 9, 'WITHSCORES')),
    },
    {
      name: 'raw ZREVRANK',
      factor: null,
      run: () => timesOf(reads, (at) => client.zrevrank(key, names[at % NAMES]!)),
    },
    httpVariant(options, 'plain Express, ZREVRANGE 0 9', [`${plainUrl}/top`], null),
    httpVariant(
      options,
      'plain Express, ZREVRANK',
      escaped.map((name) => `${plainUrl}/rank?member=${name}`),
      null,
    ),
  ];
}

function boardVariants(options: BoardReadsOptions): Variant[] {
  const offset = Math.floor(options.members / 2);
  const names = namesOf(options).map(encodeURIComponent);
  const page = `page at ${offset.toLocaleString('en')}`;
  return options.places.flatMap(({ name, url, factor }) => {
    const members = names.map((member) => `${url}/members/${member}`);
    const around = members.map((member) => `${member}/around?n=5`);
    return [
      httpVariant(options, `${name}: top 10`, [`${url}/top?fresh=true`], factor),
      httpVariant(options, `${name}: rank`, members, factor),
      httpVariant(options, `${name}: around 5`, around, factor),
      httpVariant(options, `${name}: ${page}`, [`${url}/top?fresh=true&offset=${offset}`], factor),
    ];
  });
}

function httpVariant(
  { ask, reads }: BoardReadsOptions,
  name: string,
  urls: readonly string[],
  factor: number | null,
): Variant {
  const run = async (): Promise<readonly number[]> =>
    (await ask({ kind: 'get', urls, count: reads })).latenciesMs;
  return { name, factor, run };
}

function namesOf({ members }: BoardReadsOptions): string[] {
  return Array.from({ length: NAMES }, (_, index) => memberName((index * NAME_STRIDE) % members));
}

async function timesOf(
  count: number,
  read: (index: number) => Promise<unknown>,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const startMs = performance.now();
    await read(at);
    times.push(performance.now() - startMs);
  }
  return times;
}
