import { BadLineReport } from './import/bad-line-report.ts';
import { Input } from './import/input.ts';
import { InputError } from './import/parsed-line.ts';
import { ProgressLine } from './import/progress.ts';
import { type ScoreFormat, ScoreParser } from './import/score-line.ts';
import { SCORE_BATCH, ScoreSender } from './import/score-sender.ts';
import type { ScoreIncrement } from '../client/board-types.ts';
import { boardTable } from './board-table.ts';
import { type Command, type CommandContext, EXIT_INTERRUPTED, EXIT_OK } from './command.ts';
import { showTable } from './live-table.ts';
import { grouped, printable } from './terminal.ts';
import { CommandError, parseCommand, UsageError, wholeNumber } from './usage.ts';
import { clientOf, COMMON_HELP } from './window-options.ts';

const K_MAX = 500;
const OPTIONS = {
  k: { type: 'string', default: '20' },
  view: { type: 'string', default: 'all' },
  season: { type: 'string' },
  watch: { type: 'boolean', default: false },
  format: { type: 'string' },
  label: { type: 'string', default: '' },
  url: { type: 'string' },
} as const;

const HELP = `Usage: tally board top BOARD [options]
       tally board import BOARD FILE|- [options]

top prints who leads.
  --k N        rows, at most ${K_MAX} (default: 20)
  --view V     a view of the board (default: all)
  --season S   id of a season (default: the current one)
${COMMON_HELP}

import sends the scores of a file: CSV with a header row that names the columns member, and by or
score; or NDJSON with these fields. A name ending in .gz is unpacked.
  --format F   csv or ndjson; else told by the name, and ndjson for -
  --label L    count the same file once more, under another label

Bad lines are counted, the first ones are shown, and the rest is imported. Run again within a day
after Ctrl-C or an error, an import goes on where it was and counts nothing twice.`;

type Values = ReturnType<typeof parseCommand<typeof OPTIONS>>['values'];

export const boardCommand: Command = {
  summary: 'print who leads a board, or import its scores',
  help: HELP,
  run(args, context) {
    const { values, positionals } = parseCommand(args, OPTIONS);
    const [action, board, ...rest] = positionals;
    if (action === 'top' && board !== undefined && rest.length === 0) {
      return top(board, values, context);
    }
    const [path, ...others] = rest;
    if (action === 'import' && board !== undefined && path !== undefined && others.length === 0) {
      return importScores(board, path, values, context);
    }
    throw new UsageError('give `top BOARD`, or `import BOARD FILE`');
  },
};

async function top(board: string, values: Values, context: CommandContext): Promise<number> {
  const client = clientOf(values.url, context).board(board);
  const { view, season } = values;
  const query = {
    ...{ k: wholeNumber('k', values.k, 1, K_MAX), view, signal: context.stop, attempts: 1 },
    ...(season === undefined ? {} : { season }),
  };
  const readTable = async (columns: number | null): Promise<string[]> =>
    boardTable(await client.top(query), columns);
  await showTable(readTable, values.watch, context);
  return EXIT_OK;
}

async function importScores(
  board: string,
  path: string,
  values: Values,
  context: CommandContext,
): Promise<number> {
  const { clock, stdin, stderr, stdout, stop } = context;
  const format = formatOf(path, values.format);
  const input = await Input.of(path, stdin).catch(toCommandError);
  const progress = new ProgressLine(stderr, clock);
  const badLines = new BadLineReport(progress);
  const client = clientOf(values.url, context).board(board);
  const sender = new ScoreSender(client, values.label, stop);
  const parser = new ScoreParser(format);
  let waiting: ScoreIncrement[] = [];
  let lineCount = 0;
  const take = async (lines: ReturnType<ScoreParser['push']>): Promise<void> => {
    for (const line of lines) {
      lineCount += 1;
      if ('increment' in line) waiting.push(line.increment);
      else badLines.add(line);
      if (waiting.length === SCORE_BATCH) {
        await sender.send(waiting);
        waiting = [];
      }
    }
    const { sizeBytes, readBytes } = input;
    progress.update('importing', lineCount, sizeBytes ? readBytes / sizeBytes : null);
  };
  try {
    for await (const piece of input.pieces(clock, stop)) {
      if (piece !== 'pause') await take(parser.push(piece));
    }
    if (!stop.aborted) {
      await take(parser.end());
      await sender.send(waiting);
    }
  } catch (error) {
    if (!stop.aborted) toCommandError(error);
  } finally {
    progress.clear();
  }
  const { applied, duplicate, outOfRange } = sender.totals;
  stdout.write(
    `${printable(path)} -> ${printable(board)}\n` +
      `  ${'lines'.padEnd(12)} ${grouped(lineCount)}\n` +
      `  ${'applied'.padEnd(12)} ${grouped(applied)}\n` +
      `  ${'duplicate'.padEnd(12)} ${grouped(duplicate)}\n` +
      `  ${'out of range'.padEnd(12)} ${grouped(outOfRange)}\n` +
      `  ${'bad lines'.padEnd(12)} ${grouped(badLines.count)}\n`,
  );
  return stop.aborted ? EXIT_INTERRUPTED : EXIT_OK;
}

function formatOf(path: string, given: string | undefined): ScoreFormat {
  if (given === 'csv' || given === 'ndjson') return given;
  if (given !== undefined) throw new UsageError('--format is csv or ndjson');
  if (path === '-' || /\.(ndjson|jsonl)(\.gz)?$/i.test(path)) return 'ndjson';
  if (/\.csv(\.gz)?$/i.test(path)) return 'csv';
  throw new UsageError('the name does not tell the format: add --format csv|ndjson');
}

function toCommandError(error: unknown): never {
  throw error instanceof InputError ? new CommandError(error.message) : error;
}
