/** The command line as a process: its streams, its signals, and its exit code. */
import { readClientConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK } from './command.ts';
import { runCommandLine } from './run.ts';

endQuietlyOnClosedPipe();
process.exitCode = await runCommandLine(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  listenForStop,
  defaultUrl: () => readClientConfig().url,
});

/** The first signal asks the command to finish; a second one ends it at once. */
function listenForStop(): AbortSignal {
  const stopper = new AbortController();
  const onSignal = (): void => {
    if (stopper.signal.aborted) process.exit(EXIT_INTERRUPTED);
    stopper.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stopper.signal;
}

/** `tally top | head -3` closes the pipe early: that is no failure. */
function endQuietlyOnClosedPipe(): void {
  for (const output of [process.stdout, process.stderr]) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      process.exit(error.code === 'EPIPE' ? EXIT_OK : EXIT_FAILED);
    });
  }
}
