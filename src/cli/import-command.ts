import { TallyClient } from '../client/tally-client.ts';
import { TallyError } from '../client/tally-error.ts';
import { HOUR_MS } from '../streams/buckets.ts';
import { type Command, type CommandContext, EXIT_INTERRUPTED, EXIT_OK } from './command.ts';
import { BadLineReport, SHOWN_BAD_LINES } from './import/bad-line-report.ts';
import { COMBINED_FIELDS } from './import/combined-log.ts';
import { type Format, FORMATS, formatOfName } from './import/formats.ts';
import { type ImportReport, runImport } from './import/importer.ts';
import { Input } from './import/input.ts';
import { type BadLine, type FieldChoice, InputError, streamProblem } from './import/parsed-line.ts';
import { ProgressLine } from './import/progress.ts';
import type { SendTotals } from './import/sender.ts';
import { grouped, printable } from './terminal.ts';
import { CommandError, parseCommand, UsageError, wholeNumber } from './usage.ts';

const RATE_MAX = 10_000_000;
const DEFAULT_STREAM = 'default';

const OPTIONS = {
  format: { type: 'string' },
  stream: { type: 'string' },
  rate: { type: 'string' },
  now: { type: 'boolean' },
  item: { type: 'string' },
  actor: { type: 'string' },
  label: { type: 'string' },
  url: { type: 'string' },
} as const;

const HELP = `Usage: tally import FILE|- [options]

Reads a file, or standard input (-), and sends its events. A name ending in .gz is unpacked.

  --format F   combined, ndjson, csv or json; else told by the name (.log, .ndjson, .jsonl,
               .csv, .json), and combined for -
  --stream S   stream for events that name none (default: ${DEFAULT_STREAM})
  --item F     field or column to count instead of the usual one
  --actor F    field or column that says who it was
               combined knows ${COMBINED_FIELDS.slice(0, 5).join(', ')},
               ${COMBINED_FIELDS.slice(5).join(', ')}; usual: path and address
               json and ndjson take dims of the API's events, csv columns named dims.NAME
  --now        shift all times by whole hours, so that the largest lies in the last hour
               (a file only, since it is read twice)
  --rate N     at most N events a second
  --label L    count the same input once more, under another label
  --url URL    the server (default: TALLY_URL, else http://127.0.0.1:8080)

Bad lines are counted, the first ${SHOWN_BAD_LINES} are shown, and the rest is imported. Run again
after Ctrl-C or an error, an import goes on where it was and counts nothing twice.
Exit code: 0, 1 when the server or the input failed, 130 after Ctrl-C.`;

interface ImportOptions {
  readonly path: string;
  readonly format: Format;
  readonly fields: FieldChoice;
  readonly stream: string;
  readonly eventsPerSecond: number | null;
  readonly isShifted: boolean;
  readonly label: string;
  readonly url: string | null;
}

export const importCommand: Command = {
  summary: 'read a log or events from a file or a pipe',
  help: HELP,
  async run(args, context) {
    const options = parseOptions(args);
    const client = new TallyClient({
      url: options.url ?? context.defaultUrl(),
      clock: context.clock,
    });
    const report = await importInput(options, client, context);
    context.stdout.write(summaryOf(report, options));
    if (report.failure !== null && !context.stop.aborted) throw toCommandError(report.failure);
    return context.stop.aborted ? EXIT_INTERRUPTED : EXIT_OK;
  },
};

async function importInput(
  options: ImportOptions,
  client: TallyClient,
  { stdin, stderr, clock, stop }: CommandContext,
): Promise<ImportReport> {
  const input = await openInput(options, stdin);
  const progress = new ProgressLine(stderr, clock);
  const badLines = new BadLineReport(progress);
  const onBadLine = (line: BadLine): void => badLines.add(line);
  const { format, fields, isShifted, label, stream, eventsPerSecond } = options;
  const identity = { format, fields, isShifted, label };
  return runImport(
    { input, identity, stream, eventsPerSecond },
    { client, clock, stop, progress, onBadLine },
  );
}

async function openInput(options: ImportOptions, stdin: CommandContext['stdin']): Promise<Input> {
  const input = await Input.of(options.path, stdin).catch((error: unknown) => {
    throw error instanceof InputError ? new CommandError(error.message) : error;
  });
  if (options.isShifted && input.isPipe) {
    throw new UsageError('--now needs a file: a pipe cannot be read twice');
  }
  return input;
}

function parseOptions(args: readonly string[]): ImportOptions {
  const { values, positionals } = parseCommand(args, OPTIONS);
  const [path, ...others] = positionals;
  if (path === undefined || others.length > 0) {
    throw new UsageError('give one file to import, or - for standard input');
  }
  const format = formatOf(path, values.format);
  const fields = { item: values.item ?? null, actor: values.actor ?? null };
  if (format === 'combined') checkCombinedFields(fields);
  const stream = values.stream ?? DEFAULT_STREAM;
  const problem = streamProblem(stream);
  if (problem !== null) throw new UsageError(problem);
  return {
    path,
    format,
    fields,
    stream,
    eventsPerSecond:
      values.rate === undefined ? null : wholeNumber('rate', values.rate, 1, RATE_MAX),
    isShifted: values.now === true,
    label: values.label ?? '',
    url: values.url ?? null,
  };
}

function formatOf(path: string, given: string | undefined): Format {
  if (given !== undefined) {
    const format = FORMATS.find((name) => name === given);
    if (format === undefined) throw new UsageError(`--format is one of ${FORMATS.join(', ')}`);
    return format;
  }
  const format = path === '-' ? 'combined' : formatOfName(path);
  if (format === null) {
    throw new UsageError(`the name does not tell the format: add --format ${FORMATS.join('|')}`);
  }
  return format;
}

function checkCombinedFields(fields: FieldChoice): void {
  for (const [option, name] of Object.entries(fields)) {
    if (name !== null && !COMBINED_FIELDS.some((field) => field === name)) {
      throw new UsageError(`--${option} is one of ${COMBINED_FIELDS.join(', ')}`);
    }
  }
}

function summaryOf(report: ImportReport, { path, stream }: ImportOptions): string {
  const { lineCount, badLineCount, totals, shiftMs, elapsedMs } = report;
  const seconds = elapsedMs / 1000;
  const perSecond = seconds > 0 ? lineCount / seconds : lineCount;
  const duplicateNote = totals.duplicate > 0 ? ' (counted before)' : '';
  const rows: [string, string][] = [
    ['lines', `${grouped(lineCount)} in ${seconds.toFixed(1)} s, ${grouped(perSecond)} a second`],
    ['accepted', grouped(totals.accepted)],
    ['duplicate', grouped(totals.duplicate) + duplicateNote],
    ['rejected', grouped(totals.rejected) + codesOf(totals)],
    ['bad lines', grouped(badLineCount)],
  ];
  if (totals.unsent > 0) {
    rows.push(['not sent', `${grouped(totals.unsent)}; import again to go on`]);
  }
  if (shiftMs !== null) rows.push(['clock', `shifted by ${hours(shiftMs)}`]);
  for (const [name, foundMs] of report.foundShiftMs) {
    rows.push(['', `${printable(name)}: ${hours(foundMs)}, as when this import was begun`]);
  }
  const title = `${printable(path)} -> ${printable(stream)}`;
  return `${title}\n${rows.map(([name, text]) => `  ${name.padEnd(10)} ${text}\n`).join('')}`;
}

/** The server names the code of only the first rejections of a batch. */
function codesOf({ rejected, rejectedByCode }: SendTotals): string {
  const named = [...rejectedByCode].map(([code, count]) => `${code} ${grouped(count)}`);
  const namedCount = [...rejectedByCode.values()].reduce((sum, count) => sum + count, 0);
  if (namedCount < rejected) named.push(`not told why ${grouped(rejected - namedCount)}`);
  return named.length === 0 ? '' : ` (${named.join(', ')})`;
}

function hours(shiftMs: number): string {
  const count = shiftMs / HOUR_MS;
  return `${count < 0 ? '-' : '+'}${grouped(Math.abs(count))} h`;
}

function toCommandError(failure: unknown): unknown {
  if (failure instanceof TallyError) {
    return new CommandError(`${failure.message}; import again to go on, nothing is counted twice`);
  }
  return failure instanceof InputError ? new CommandError(failure.message) : failure;
}
