import { TallyClient, type WindowQuery } from '../client/tally-client.ts';
import { TallyError } from '../client/tally-error.ts';
import { type Command, type CommandContext, EXIT_OK } from './command.ts';
import { fit, terminalSize } from './terminal.ts';
import { topTable } from './top-table.ts';
import { expectNoPositionals, parseCommand, wholeNumber } from './usage.ts';

const REFRESH_MS = 1_000;
const K_MAX = 500;
const NO_ANSWER = 'NO ANSWER, this is the last one:';

const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_TO_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

const OPTIONS = {
  stream: { type: 'string', default: 'default' },
  window: { type: 'string', default: '1h' },
  until: { type: 'string' },
  k: { type: 'string', default: '20' },
  watch: { type: 'boolean', default: false },
  url: { type: 'string' },
} as const;

const HELP = `Usage: tally top [options]

Prints what is on top in a window, with the total and how many different actors there were.

  --stream S   (default: default)
  --window W   90m, 24h, 31d, ... (default: 1h)
  --until T    end of the window in the past: epoch ms or ISO 8601 (default: now)
  --k N        rows, at most ${K_MAX} (default: 20)
  --watch      refresh every second until Ctrl-C
  --url URL    the server (default: TALLY_URL, else http://127.0.0.1:8080)`;

interface TopQuery extends WindowQuery {
  readonly k: number;
}

export const topCommand: Command = {
  summary: 'print what is on top, once or live',
  help: HELP,
  async run(args, context) {
    const { values, positionals } = parseCommand(args, OPTIONS);
    expectNoPositionals(positionals);
    const client = new TallyClient({
      url: values.url ?? context.defaultUrl(),
      clock: context.clock,
    });
    const query = {
      stream: values.stream,
      window: values.window,
      ...(values.until === undefined ? {} : { until: values.until }),
      k: wholeNumber('k', values.k, 1, K_MAX),
      signal: context.stop,
      attempts: 1,
    };
    if (values.watch) {
      await watch(client, query, context);
    } else {
      const { stdout } = context;
      const columns = stdout.isTTY === true ? terminalSize(stdout).columns : null;
      stdout.write(`${(await readTable(client, query, columns)).join('\n')}\n`);
    }
    return EXIT_OK;
  },
};

async function readTable(
  client: TallyClient,
  query: TopQuery,
  columns: number | null,
): Promise<string[]> {
  const [top, distinct] = await Promise.all([client.top(query), client.distinct(query)]);
  return topTable(top, distinct, columns);
}

/** On a terminal the table stays in place; into a pipe each refresh is a table of its own. */
async function watch(client: TallyClient, query: TopQuery, context: CommandContext): Promise<void> {
  const { stdout, clock, stop } = context;
  const isTerminal = stdout.isTTY === true;
  if (isTerminal) stdout.write(ENTER_SCREEN);
  try {
    // A first failure (no server, a bad window) ends the command; later ones may pass.
    let lines = await readTable(client, query, isTerminal ? terminalSize(stdout).columns : null);
    while (!stop.aborted) {
      stdout.write(
        isTerminal ? screenOf(lines, terminalSize(stdout).rows) : `${lines.join('\n')}\n\n`,
      );
      await clock.sleep(REFRESH_MS, stop);
      if (stop.aborted) return;
      lines = await refreshed(
        client,
        query,
        lines,
        isTerminal ? terminalSize(stdout).columns : null,
      );
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    if (isTerminal) stdout.write(LEAVE_SCREEN);
  }
}

/** The new table; while the server does not answer, the old one with the reason above it. */
async function refreshed(
  client: TallyClient,
  query: TopQuery,
  shown: readonly string[],
  columns: number | null,
): Promise<string[]> {
  try {
    return await readTable(client, query, columns);
  } catch (error) {
    if (!(error instanceof TallyError)) throw error;
    const table = shown[0]?.startsWith(NO_ANSWER) === true ? shown.slice(1) : shown;
    const note = `${NO_ANSWER} ${error.message}`;
    return [columns === null ? note : fit(note, columns), ...table];
  }
}

function screenOf(lines: readonly string[], rows: number): string {
  const shown = lines.slice(0, rows).map((line) => line + CLEAR_TO_LINE_END);
  return HOME + shown.join('\r\n') + CLEAR_BELOW;
}
