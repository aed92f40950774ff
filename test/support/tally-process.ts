import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuild, REPOSITORY } from '../../scripts/bootstrap.mjs';
import { findFreePort } from './free-port.ts';

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A server as users run it: from the build, in a process of its own, on a port that stays. */
export interface TallyProcess {
  readonly url: string;
  /** What the process that runs now, or ran last, has printed to both outputs. */
  readonly output: string;
  /** Of the process that runs now, or ran last. */
  readonly ended: Promise<ProcessEnd>;
  /** Of the process that runs now. */
  readonly pid: number;
  signal(signal: NodeJS.Signals): void;
  /** SIGKILL for it and everything it has started, and waits for the end. */
  kill(): Promise<void>;
  /** Starts the server again on the same port; it must not run. */
  start(): Promise<void>;
}

/** Ports are picked before they are bound, so another process may win the race for one. */
const START_ATTEMPTS = 5;

/** `env` holds settings; the log is quiet unless they say otherwise. */
export async function startTallyProcess(env: Record<string, string>): Promise<TallyProcess> {
  const command = [process.execPath, '--enable-source-maps', join(await ensureBuild(), 'main.js')];
  return startServer(command, env);
}

/** The same through `npm start`. */
export async function startWithNpm(env: Record<string, string>): Promise<TallyProcess> {
  return startServer(['npm', 'start'], env);
}

async function startServer(
  command: readonly string[],
  env: Record<string, string>,
): Promise<TallyProcess> {
  for (let attempt = 1; ; attempt++) {
    const server = new ServerProcess(command, await findFreePort(), env);
    try {
      await server.start();
      return server;
    } catch (error) {
      if (attempt === START_ATTEMPTS || !server.output.includes('is taken')) {
        throw error;
      }
    }
  }
}

class ServerProcess implements TallyProcess {
  readonly url: string;
  output = '';
  readonly #command: readonly string[];
  readonly #env: Record<string, string>;
  #child: ChildProcess | undefined;
  #ended: Promise<ProcessEnd> = Promise.resolve({ code: null, signal: null });

  constructor(command: readonly string[], port: number, env: Record<string, string>) {
    this.url = `http://127.0.0.1:${port}`;
    this.#command = command;
    this.#env = { TALLY_PORT: String(port), TALLY_LOG_LEVEL: 'warn', ...env };
  }

  get ended(): Promise<ProcessEnd> {
    return this.#ended;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) {
      throw new Error('this server does not run');
    }
    return pid;
  }

  start(): Promise<void> {
    const { PATH = '', HOME = '' } = process.env;
    // A test process that crashes leaves no server behind: the kernel kills it with its parent.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...this.#command], {
      cwd: REPOSITORY,
      // A process group of its own: `kill` reaches the server also where npm stands before it.
      detached: true,
      env: { PATH, HOME, ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.output = '';
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
    return new Promise((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        this.output += chunk.toString();
        if (/^Tally listens on /m.test(this.output)) {
          resolve();
        }
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', reject);
      child.once('close', () => {
        reject(new Error(`the server ended before it listened:\n${this.output}`));
      });
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child ?? {};
    if (pid !== undefined && exitCode === null && signalCode === null) {
      process.kill(-pid, 'SIGKILL');
    }
    await this.#ended;
  }
}
