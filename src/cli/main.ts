/** The command line as a process: its streams, its signals, and its exit code. */
import { readClientConfig } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK } from './command.ts';
import { runCommandLine } from './run.ts';

/** A terminal's Ctrl-C reaches this process directly and once more through npx: one wish. */
const SAME_SIGNAL_MS = 500;

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
  let firstAtMs = 0;
  const onSignal = (): void => {
    const nowMs = systemClock.nowMs();
    if (!stopper.signal.aborted) {
      firstAtMs = nowMs;
      stopper.abort();
    } else if (nowMs - firstAtMs >= SAME_SIGNAL_MS) {
      process.exit(EXIT_INTERRUPTED);
    }
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
