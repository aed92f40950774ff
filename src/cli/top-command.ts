import { type Command, EXIT_OK } from './command.ts';
import { showTable } from './live-table.ts';
import { topTable } from './top-table.ts';
import { expectNoPositionals, parseCommand, wholeNumber } from './usage.ts';
import {
  clientOf,
  COMMON_HELP,
  rankedBy,
  WINDOW_HELP,
  WINDOW_OPTIONS,
  windowQueryOf,
} from './window-options.ts';

const K_MAX = 500;

const OPTIONS = { ...WINDOW_OPTIONS, k: { type: 'string', default: '20' } } as const;

const HELP = `Usage: tally top [options]

Prints what is on top in a window, with the total and how many different actors there were.

${WINDOW_HELP}
  --k N        rows, at most ${K_MAX} (default: 20)
${COMMON_HELP}`;

export const topCommand: Command = {
  summary: 'print what is on top, once or live',
  help: HELP,
  async run(args, context) {
    const { values, positionals } = parseCommand(args, OPTIONS);
    expectNoPositionals(positionals);
    const client = clientOf(values.url, context);
    const window = windowQueryOf(values, context);
    const query = {
      ...window,
      by: rankedBy(values.by),
      k: wholeNumber('k', values.k, 1, K_MAX),
    };
    const readTable = async (columns: number | null): Promise<string[]> => {
      const [top, distinct] = await Promise.all([client.top(query), client.distinct(window)]);
      return topTable(top, distinct, columns);
    };
    await showTable(readTable, values.watch, context);
    return EXIT_OK;
  },
};
