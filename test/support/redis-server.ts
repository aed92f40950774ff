import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { findFreePort } from './free-port.ts';

const execFileText = promisify(execFile);

export interface RedisOptions {
  /** Turns the append-only file on with this policy; absent: nothing is written to disk. */
  readonly appendfsync?: 'always' | 'everysec' | 'no' | undefined;
  /** More of redis-server's arguments, such as `--maxmemory 8mb`. */
  readonly args?: readonly string[] | undefined;
  /** A directory to keep the data in; absent: a temporary one that `stop` removes. */
  readonly dir?: string | undefined;
}

/** A real redis-server of this test's own, on loopback only; it dies with the test process. */
export interface RedisServer {
  readonly port: number;
  readonly socketPath: string;
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
  readonly dir: string;
  /** The process that runs now; another one after `restart`. */
  readonly pid: number;
  /** Sends the signal and, where it ends the process, waits for its end. Default SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts the server again on the same port and directory (after SIGKILL if it still runs). */
  restart(): Promise<void>;
  /** Ends the process and removes the temporary directory. May be called twice. */
  stop(): Promise<void>;
  /** Runs redis-cli against this server and returns what it printed; rejects on an error reply. */
  cli(...args: string[]): Promise<string>;
}

/** Ports are picked before they are bound, so another process may win the race for one. */
const START_ATTEMPTS = 5;
/** Enough to hold what a server says before it is ready or fails. */
const MAX_LOG_LINES = 200;

export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'tally-redis-')));
    const server = new RedisProcess(await findFreePort(), dir, options);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.stop();
      if (attempt === START_ATTEMPTS || !(error instanceof PortTaken)) {
        throw error;
      }
    }
  }
}

class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

class RedisProcess implements RedisServer {
  readonly port: number;
  readonly socketPath: string;
  readonly url: string;
  readonly dir: string;
  readonly #options: RedisOptions;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(port: number, dir: string, options: RedisOptions) {
    this.port = port;
    this.dir = dir;
    this.socketPath = join(dir, 'redis.sock');
    this.url = `redis://127.0.0.1:${port}`;
    this.#options = options;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) {
      throw new Error('this redis-server does not run');
    }
    return pid;
  }

  async start(): Promise<void> {
    // A test process that crashes leaves no server behind: the kernel kills it with its parent.
    const child = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', '--', 'redis-server', ...this.#arguments()],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('close', () => resolve());
    });
    await untilReady(child);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') {
      await this.#ended;
    }
  }

  async restart(): Promise<void> {
    await this.kill('SIGKILL');
    await this.start();
  }

  async stop(): Promise<void> {
    await this.kill('SIGKILL');
    if (this.#options.dir === undefined) {
      await rm(this.dir, { recursive: true, force: true });
    }
  }

  async cli(...args: string[]): Promise<string> {
    // -e makes an error reply a non-zero exit status.
    const options = { maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await execFileText(
      'redis-cli',
      ['-s', this.socketPath, '-e', ...args],
      options,
    );
    return stdout.replace(/\n$/, '');
  }

  #arguments(): string[] {
    const { appendfsync, args = [] } = this.#options;
    const persistence =
      appendfsync === undefined
        ? ['--appendonly', 'no']
        : ['--appendonly', 'yes', '--appendfsync', appendfsync];
    return [
      ...['--port', String(this.port), '--bind', '127.0.0.1', '--unixsocket', this.socketPath],
      ...['--dir', this.dir, '--save', '', '--daemonize', 'no', '--logfile', ''],
      ...persistence,
      ...args,
    ];
  }
}

/** Resolves when the server says that it accepts connections; rejects when it ends before. */
function untilReady(child: ChildProcessByStdio<null, Readable, Readable>): Promise<void> {
  return new Promise((resolve, reject) => {
    const log: string[] = [];
    const read = (line: string): void => {
      if (log.length < MAX_LOG_LINES) {
        log.push(line);
      }
      if (line.includes('Ready to accept connections')) {
        resolve();
      }
    };
    // Reading goes on after the promise is settled: a full pipe would stop the server.
    createInterface({ input: child.stdout }).on('line', read);
    createInterface({ input: child.stderr }).on('line', read);
    child.once('error', reject);
    child.once('close', () => {
      const text = log.join('\n');
      const message = `redis-server ended before it was ready:\n${text}`;
      reject(text.includes('Address already in use') ? new PortTaken(message) : new Error(message));
    });
  });
}
