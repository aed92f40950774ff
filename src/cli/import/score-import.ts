import type { BoardClient } from '../../client/board-client.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Input } from './input.ts';
import type { BadLine } from './parsed-line.ts';
import type { ProgressLine } from './progress.ts';
import { type ScoreFormat, type ScoreLine, ScoreParser } from './score-line.ts';
import { ScoreSender, type ScoreTotals } from './score-sender.ts';

/** How long what is in flight may take after Ctrl-C. */
const STOP_GRACE_MS = 10_000;

export interface ScoreImportPlan {
  readonly input: Input;
  readonly format: ScoreFormat;
  /** Another one counts the same file once more. */
  readonly label: string;
}

export interface ScoreImportReport {
  readonly lineCount: number;
  readonly totals: ScoreTotals;
  /** Read, and not sent. */
  readonly unsentCount: number;
  /** What ended it early: the server or the input; null when nothing did. */
  readonly failure: unknown;
}

interface Surroundings {
  readonly board: BoardClient;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly progress: ProgressLine;
  readonly onBadLine: (line: BadLine) => void;
}

/** Reads an input to its end (or until `stop`) and sends its scores. */
export async function runScoreImport(
  plan: ScoreImportPlan,
  { board, clock, stop, progress, onBadLine }: Surroundings,
): Promise<ScoreImportReport> {
  const { input, format, label } = plan;
  const cutOff = new AbortController();
  const finished = new AbortController();
  const onStop = (): void => {
    void clock.sleep(STOP_GRACE_MS, finished.signal).then(() => cutOff.abort());
  };
  stop.addEventListener('abort', onStop);
  const sender = new ScoreSender(board, label, { signal: cutOff.signal, onBadLine });
  const parser = new ScoreParser(format);
  let lineCount = 0;
  const take = async (lines: readonly ScoreLine[]): Promise<void> => {
    for (const line of lines) {
      // A file can be read again from here; of a pipe, what was read is sent.
      if (stop.aborted && !input.isPipe) return;
      lineCount += 1;
      if ('increment' in line) await sender.add(line);
      else onBadLine(line);
    }
    const { sizeBytes, readBytes } = input;
    progress.update('importing', lineCount, sizeBytes ? readBytes / sizeBytes : null);
  };
  let failure: unknown = null;
  try {
    for await (const piece of input.pieces(clock, stop)) {
      if (piece === 'pause') await sender.sendUnfinished();
      else await take(parser.push(piece));
    }
    if (!stop.aborted) {
      await take(parser.end());
      await sender.end();
    } else if (input.isPipe) {
      await sender.sendUnfinished();
    }
  } catch (error) {
    failure = error;
  }
  finished.abort();
  stop.removeEventListener('abort', onStop);
  progress.clear();
  return { lineCount, totals: sender.totals, unsentCount: sender.waitingCount, failure };
}
