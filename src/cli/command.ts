import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../lib/clock.ts';

/** A stream that may be a terminal. */
export type Output = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** All that a command knows of the world. */
export interface CommandContext {
  readonly stdin: Readable;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** Aborts at the first Ctrl-C (SIGINT) or SIGTERM. */
  readonly stop: AbortSignal;
  /** The server's address when --url is not given. */
  readonly defaultUrl: () => string;
}

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  readonly help: string;
  /** True: it ends on signals by itself, and `stop` never aborts. */
  readonly handlesSignals?: true;
  /** Resolves to the exit code. Rejects with UsageError, CommandError or TallyError. */
  run(args: readonly string[], context: CommandContext): Promise<number>;
}

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
/** What a shell reports for a command that ended by Ctrl-C. */
export const EXIT_INTERRUPTED = 130;
