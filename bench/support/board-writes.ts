/**
 * Increments of boards beside redis-benchmark's ZINCRBY and an Express handler that awaits one, on
 * the same members; and whose time they take, since all of it shares the cores of one machine.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { BoardLoadRequest, BoardLoadResult } from './board-load-process.ts';
import type { Place } from './board-reads.ts';
import { tableOf } from './report.ts';
import { ratiosOf, showSpread, type Spread, spreadOf } from './report-spread.ts';
import { cpuSecondsOf } from './servers.ts';

export interface WritePlace extends Place {
  /** How much of redis-benchmark's rate is wanted. */
  readonly toRaw: number;
  readonly serverPids: readonly number[];
  readonly redisPids: readonly number[];
}

export interface BoardWritesOptions {
  readonly ask: (request: BoardLoadRequest) => Promise<BoardLoadResult>;
  readonly places: readonly WritePlace[];
  readonly plain: { readonly url: string; readonly pid: number };
  /** Where the plain sorted set is. */
  readonly redis: { readonly port: number; readonly pid: number };
  readonly key: string;
  readonly members: number;
  /** Of a full batch each, a round and variant. */
  readonly requests: number;
  /** Of one increment each, to the plain handler. */
  readonly singles: number;
  readonly rawCommands: number;
  readonly rounds: number;
  /** How many times the rate of the plain handler is wanted. */
  readonly toPlain: number;
  readonly goalOf: (isMet: boolean, goal: string) => string;
}

export interface WriteFigures {
  readonly perSecond: Spread;
  /** Of CPU, an increment. */
  readonly serverUs: Spread;
  readonly redisUs: Spread;
}

interface Variant {
  readonly name: string;
  readonly toRaw: number | null;
  readonly increments: number;
  readonly serverPids: readonly number[];
  readonly redisPids: readonly number[];
  /** Increments a second. */
  readonly run: (seed: number) => Promise<number>;
}

type Samples = { readonly [Figure in keyof WriteFigures]: number[] };

const BATCH_SIZE = 100;
const CONNECTIONS = 8;
const SINGLE_CONNECTIONS = 32;
const US_PER_SECOND = 1_000_000;

export async function measureWrites(
  options: BoardWritesOptions,
): Promise<Record<string, WriteFigures>> {
  const { rounds } = options;
  const variants = variantsOf(options);
  const samples = variants.map((): Samples => ({ perSecond: [], serverUs: [], redisUs: [] }));
  // The first round is not shown: it warms everything up.
  for (let round = -1; round < rounds; round += 1) {
    for (let step = 0; step < variants.length; step += 1) {
      const at = (step + round + 1) % variants.length;
      const { increments, redisPids, run, serverPids } = variants[at]!;
      const before = [serverPids, redisPids].map(cpuSecondsOf);
      const perSecond = await run(100 * (round + 2) + at);
      const spent = [serverPids, redisPids].map(
        (pids, index) => ((cpuSecondsOf(pids) - before[index]!) / increments) * US_PER_SECOND,
      );
      if (round < 0) continue;
      samples[at]!.perSecond.push(perSecond);
      samples[at]!.serverUs.push(spent[0]!);
      samples[at]!.redisUs.push(spent[1]!);
    }
  }
  show(options, variants, samples);
  return Object.fromEntries(
    variants.map(({ name }, index) => {
      const { perSecond, serverUs, redisUs } = samples[index]!;
      const [rate, server, redis] = [perSecond, serverUs, redisUs].map(spreadOf);
      return [name, { perSecond: rate!, serverUs: server!, redisUs: redis! }];
    }),
  );
}

function variantsOf(options: BoardWritesOptions): Variant[] {
  const { places, plain, rawCommands, redis, requests, singles } = options;
  const redisPids = [redis.pid];
  return [
    {
      ...{ name: `redis-benchmark ZINCRBY, -P ${BATCH_SIZE}`, toRaw: null },
      ...{ increments: rawCommands, serverPids: [], redisPids },
      run: () => rawPerSecond(options),
    },
    {
      ...{ name: 'plain Express, one ZINCRBY each', toRaw: null },
      ...{ increments: singles, serverPids: [plain.pid], redisPids },
      run: (seed) => post(options, `${plain.url}/increment`, true, seed),
    },
    ...places.map(({ url, ...place }) => ({
      ...place,
      increments: BATCH_SIZE * requests,
      run: (seed: number) => post(options, `${url}/scores`, false, seed),
    })),
  ];
}

function show(
  { goalOf, toPlain }: BoardWritesOptions,
  variants: readonly Variant[],
  samples: readonly Samples[],
): void {
  const rows = variants.map(({ name, toRaw: least }, index) => {
    const { perSecond, serverUs, redisUs } = samples[index]!;
    const raw = spreadOf(ratiosOf(perSecond, samples[0]!.perSecond));
    const plain = spreadOf(ratiosOf(perSecond, samples[1]!.perSecond));
    const goals =
      least === null
        ? ['', '']
        : [
            goalOf(raw.median >= least, `>= ${least}`),
            goalOf(plain.median >= toPlain, `>= ${toPlain}`),
          ];
    return [
      ...[name, showSpread(spreadOf(perSecond), 0)],
      ...[showSpread(raw, 2), goals[0]!, showSpread(plain, 1), goals[1]!],
      ...[showSpread(spreadOf(serverUs), 1), showSpread(spreadOf(redisUs), 1)],
    ];
  });
  console.log(`\nincrements, batches of ${BATCH_SIZE} with ids, ${CONNECTIONS} connections;`);
  console.log('CPU in microseconds an increment, of the server and of all Redis\n');
  const headers = ['writes', 'increments/s', 'to raw', 'goal', 'to plain Express', 'goal'];
  console.log(tableOf([...headers, 'server', 'Redis'], rows));
}

async function post(
  { ask, members, requests, singles }: BoardWritesOptions,
  url: string,
  isSingle: boolean,
  seed: number,
): Promise<number> {
  const result = await ask({
    ...{ kind: 'post', url, members, seed },
    batchSize: isSingle ? 1 : BATCH_SIZE,
    requestCount: isSingle ? singles : requests,
    connections: isSingle ? SINGLE_CONNECTIONS : CONNECTIONS,
  });
  return result.perSecond;
}

async function rawPerSecond(options: BoardWritesOptions): Promise<number> {
  const { key, members, rawCommands, redis } = options;
  const { stdout } = await promisify(execFile)('redis-benchmark', [
    ...['-h', '127.0.0.1', '-p', String(redis.port)],
    ...['-P', String(BATCH_SIZE), '-c', String(CONNECTIONS)],
    ...['-n', String(rawCommands), '-r', String(members), '--csv'],
    ...['ZINCRBY', key, '1', 'user:__rand_int__'],
  ]);
  const line = stdout.split('\n').find((text) => text.includes('user:'));
  return Number(/","([\d.]+)"/.exec(line ?? '')![1]);
}
