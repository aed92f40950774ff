import { TallyError } from '../client/tally-error.ts';
import { ConfigError } from '../config.ts';
import { boardCommand } from './board-command.ts';
import {
  type Command,
  type CommandContext,
  EXIT_FAILED,
  EXIT_INTERRUPTED,
  EXIT_OK,
  EXIT_USAGE,
} from './command.ts';
import { demoCommand } from './demo-command.ts';
import { importCommand } from './import-command.ts';
import { serveCommand } from './serve-command.ts';
import { printable } from './terminal.ts';
import { topCommand } from './top-command.ts';
import { trendingCommand } from './trending-command.ts';
import { CommandError, UsageError } from './usage.ts';

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ['serve', serveCommand],
  ['import', importCommand],
  ['top', topCommand],
  ['trending', trendingCommand],
  ['board', boardCommand],
  ['demo', demoCommand],
]);

/** What surrounds a command line: the process, or a test. */
export interface World extends Omit<CommandContext, 'stop'> {
  /** From now on Ctrl-C asks for the end instead of ending the process. */
  listenForStop(): AbortSignal;
}

/** Picks the command and turns whatever happens into an exit code. Never rejects. */
export async function runCommandLine(args: readonly string[], world: World): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    return help(rest[0], world);
  }
  const command = COMMANDS.get(name);
  if (command === undefined) return complain(`there is no command ${JSON.stringify(name)}`, world);
  if (rest.includes('--help') || rest.includes('-h')) return help(name, world);
  const stop =
    command.handlesSignals === true ? new AbortController().signal : world.listenForStop();
  try {
    return await command.run(rest, { ...world, stop });
  } catch (error) {
    return stop.aborted ? EXIT_INTERRUPTED : explain(error, name, world);
  }
}

function help(name: string | undefined, world: World): number {
  const command = name === undefined ? undefined : COMMANDS.get(name);
  if (name !== undefined && command === undefined) {
    return complain(`there is no command ${JSON.stringify(name)}`, world);
  }
  world.stdout.write(`${command?.help ?? overview()}\n`);
  return EXIT_OK;
}

function overview(): string {
  const rows = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`);
  return [
    'Usage: tally COMMAND [options]',
    '',
    ...rows,
    `  ${'help'.padEnd(8)} this list, or with a command its options`,
    '',
    'TALLY_URL names the server (default: http://127.0.0.1:8080).',
  ].join('\n');
}

function complain(problem: string, { stderr }: World, name = ''): number {
  stderr.write(`tally: ${printable(problem)} (see tally help${name === '' ? '' : ` ${name}`})\n`);
  return EXIT_USAGE;
}

/** One line for everything that is not a bug of this program. */
function explain(error: unknown, name: string, world: World): number {
  if (error instanceof UsageError) return complain(error.message, world, name);
  if (error instanceof TallyError && error.code === 'invalid_argument') {
    return complain(error.detail, world, name);
  }
  const expected =
    error instanceof CommandError || error instanceof ConfigError || error instanceof TallyError;
  const text = error instanceof TallyError ? withHint(error) : messageOf(error);
  world.stderr.write(`tally: ${expected ? '' : 'unexpected: '}${printable(text)}\n`);
  return EXIT_FAILED;
}

function withHint(error: TallyError): string {
  const hint = error.code === 'unreachable' ? '; is the server running? (npm start)' : '';
  return `${error.detail} (${error.code})${hint}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
