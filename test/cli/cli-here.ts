import { PassThrough } from 'node:stream';
import type { Output } from '../../src/cli/command.ts';
import { runCommandLine } from '../../src/cli/run.ts';
import type { Clock } from '../../src/lib/clock.ts';

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliHere {
  readonly stdin: PassThrough;
  /** What Ctrl-C does. */
  stop(): void;
  stdout(): string;
  readonly finished: Promise<Finished>;
}

export interface Surroundings {
  readonly url: string;
  readonly clock: Clock;
  /** Columns and rows make the output a terminal. */
  readonly terminal?: { readonly columns: number; readonly rows: number };
}

const REQUEST_LIMIT_MS = 30_000;

/** A clock whose waits pass at once, but for the time limits of requests, which never come. */
export class HastyClock implements Clock {
  #nowMs = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  elapsedMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms >= REQUEST_LIMIT_MS) {
      return new Promise((resolve) => signal?.addEventListener('abort', () => resolve()));
    }
    this.#nowMs += Math.max(ms, 0);
    return Promise.resolve();
  }
}

/** Starts the command line in this process, with the time of the test. */
export function startHere(args: readonly string[], around: Surroundings): CliHere {
  const { url, clock, terminal } = around;
  const stdin = new PassThrough();
  const stdout = output(terminal);
  const stderr = output(terminal);
  const stopper = new AbortController();
  const finished = runCommandLine(args, {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    clock,
    listenForStop: () => stopper.signal,
    defaultUrl: () => url,
  });
  return {
    stdin,
    stop: () => stopper.abort(),
    stdout: stdout.text,
    finished: finished.then((code) => ({ code, stdout: stdout.text(), stderr: stderr.text() })),
  };
}

/** Runs it to its end with `input` on its standard input. */
export function runHere(
  args: readonly string[],
  around: Surroundings,
  input: string | Buffer = '',
): Promise<Finished> {
  const { stdin, finished } = startHere(args, around);
  stdin.end(input);
  return finished;
}

function output(terminal: Surroundings['terminal']): { stream: Output; text: () => string } {
  const chunks: string[] = [];
  const stream = new PassThrough();
  stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const facts = terminal === undefined ? {} : { isTTY: true, ...terminal };
  return { stream: Object.assign(stream, facts), text: () => chunks.join('') };
}
