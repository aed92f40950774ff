/** What a Redis has done for some work: from the differences of its own counters. */
import type { Redis } from 'ioredis';

export interface RedisWork {
  /** With those that scripts call. */
  readonly commands: number;
  readonly cpuMs: number;
  readonly sentBytes: number;
}

/** Nobody else uses this Redis meanwhile. */
export async function redisWorkOf<Result>(
  redis: Redis,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly redis: RedisWork }> {
  const before = await redis.info('everything');
  const result = await work();
  const after = await redis.info('everything');
  const grown = (field: string): number => numberIn(after, field) - numberIn(before, field);
  return {
    result,
    redis: {
      commands: commandsIn(after) - commandsIn(before),
      cpuMs: (grown('used_cpu_user') + grown('used_cpu_sys')) * 1_000,
      // The first of the two replies was sent after it was written.
      sentBytes: grown('total_net_output_bytes') - Buffer.byteLength(before),
    },
  };
}

function numberIn(info: string, field: string): number {
  return Number(new RegExp(`^${field}:(.*)$`, 'm').exec(info)![1]);
}

function commandsIn(info: string): number {
  let sum = 0;
  for (const [, name, calls] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    if (name !== 'info') sum += Number(calls);
  }
  return sum;
}
