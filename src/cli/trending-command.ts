import { type Command, EXIT_OK } from './command.ts';
import { showTable } from './live-table.ts';
import { trendingTable } from './trending-table.ts';
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
const BASELINE_MAX = 28;

const OPTIONS = {
  ...WINDOW_OPTIONS,
  k: { type: 'string', default: '20' },
  baseline: { type: 'string', default: '7' },
} as const;

const HELP = `Usage: tally trending [options]

Prints what is unusually frequent in a window: more than at the same time on earlier days.

${WINDOW_HELP}
  --baseline N earlier days to compare with, at most ${BASELINE_MAX} (default: 7)
  --k N        rows, at most ${K_MAX} (default: 20)
${COMMON_HELP}`;

export const trendingCommand: Command = {
  summary: 'print what is unusually frequent, once or live',
  help: HELP,
  async run(args, context) {
    const { values, positionals } = parseCommand(args, OPTIONS);
    expectNoPositionals(positionals);
    const client = clientOf(values.url, context);
    const query = {
      ...windowQueryOf(values, context),
      by: rankedBy(values.by),
      baseline: wholeNumber('baseline', values.baseline, 1, BASELINE_MAX),
      k: wholeNumber('k', values.k, 1, K_MAX),
    };
    const readTable = async (columns: number | null): Promise<string[]> =>
      trendingTable(await client.trending(query), columns);
    await showTable(readTable, values.watch, context);
    return EXIT_OK;
  },
};
