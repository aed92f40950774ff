import { BadLineReport } from './import/bad-line-report.ts';
import { Input } from './import/input.ts';
import { InputError } from './import/parsed-line.ts';
import { ProgressLine } from './import/progress.ts';
import { runScoreImport } from './import/score-import.ts';
import type { ScoreFormat } from './import/score-line.ts';
import { RefusedLineError } from './import/score-sender.ts';
import { TallyError } from '../client/tally-error.ts';
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
  const { lineCount, totals, unsentCount, failure } = await runScoreImport(
    { input, format, label: values.label },
    {
      board: clientOf(values.url, context).board(board),
      ...{ clock, stop, progress, onBadLine: (line) => badLines.add(line) },
    },
  );
  const rows = {
    lines: lineCount,
    applied: totals.applied,
    duplicate: totals.duplicate,
    'out of range': totals.outOfRange,
    'bad lines': badLines.count,
    ...(unsentCount === 0 ? {} : { 'not sent': unsentCount }),
  };
  const texts = Object.entries(rows).map(([name, count]) => {
    return `  ${name.padEnd(12)} ${grouped(count)}\n`;
  });
  stdout.write(`${printable(path)} -> ${printable(board)}\n${texts.join('')}`);
  if (stop.aborted) return EXIT_INTERRUPTED;
  if (failure !== null) toCommandError(failure);
  return EXIT_OK;
}

function formatOf(path: string, given: string | undefined): ScoreFormat {
  if (given === 'csv' || given === 'ndjson') return given;
  if (given !== undefined) throw new UsageError('--format is csv or ndjson');
  if (path === '-' || /\.(ndjson|jsonl)(\.gz)?$/i.test(path)) return 'ndjson';
  if (/\.csv(\.gz)?$/i.test(path)) return 'csv';
  throw new UsageError('the name does not tell the format: add --format csv|ndjson');
}

function toCommandError(error: unknown): never {
  // To go on would not help against a line that is refused for good.
  const isFinal = error instanceof InputError || error instanceof RefusedLineError;
  if (isFinal) throw new CommandError(error.message);
  if (!(error instanceof TallyError) || error.code === 'invalid_argument') throw error;
  throw new CommandError(`${error.message}; import again to go on, nothing is counted twice`);
}
