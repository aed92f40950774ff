/** Servers under measurement, kept so that all of them end whatever happens. */
import { readFileSync } from 'node:fs';
import {
  type RedisOptions,
  type RedisServer,
  startRedis,
} from '../../test/support/redis-server.ts';
import { startTallyProcess, type TallyProcess } from '../../test/support/tally-process.ts';
import { BenchChild } from './servers-child.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** Linux counts a process's time in these, whatever its own clock's rate. */
const TICKS_PER_SECOND = 100;
/** In /proc/<pid>/stat after the name in brackets: the 14th and 15th field of the line. */
const USER_TICKS_INDEX = 11;
const SYSTEM_TICKS_INDEX = 12;

/** Starts servers for `work` and ends them after it, also when it fails or a signal comes. */
export async function withServers(work: (servers: BenchServers) => Promise<void>): Promise<void> {
  const servers = new BenchServers();
  const onSignal = (signal: NodeJS.Signals): void => {
    void servers.stopAll().then(() => process.kill(process.pid, signal));
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    await work(servers);
  } finally {
    await servers.stopAll();
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

export class BenchServers {
  readonly #stops: (() => Promise<void>)[] = [];

  async redis(options: RedisOptions = {}): Promise<RedisServer> {
    const server = await startRedis(options);
    this.#stops.push(() => server.stop());
    return server;
  }

  /** A server as users run it, from the build. */
  async tally(env: Record<string, string>): Promise<TallyProcess> {
    const server = await startTallyProcess(env);
    this.#stops.push(() => server.kill());
    return server;
  }

  child<Request, Reply>(module: URL): BenchChild<Request, Reply> {
    const child = new BenchChild<Request, Reply>(module);
    this.#stops.push(() => child.stop());
    return child;
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((stop) => stop()));
  }
}

/** Seconds of CPU that these processes have used so far. */
export function cpuSecondsOf(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[USER_TICKS_INDEX]) + Number(fields[SYSTEM_TICKS_INDEX]);
  }
  return ticks / TICKS_PER_SECOND;
}
