import { TallyError } from '../client/tally-error.ts';
import type { CommandContext } from './command.ts';
import { fit, terminalSize } from './terminal.ts';

const REFRESH_MS = 1_000;
const NO_ANSWER = 'NO ANSWER, this is the last one:';

const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l';
const LEAVE_SCREEN = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_TO_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** The lines of a table that takes so many columns; null cuts nothing. */
type ReadTable = (columns: number | null) => Promise<string[]>;

/** Prints a table once, or goes on refreshing it until the command is stopped. */
export async function showTable(
  read: ReadTable,
  isWatched: boolean,
  context: CommandContext,
): Promise<void> {
  const { stdout } = context;
  if (isWatched) {
    await watch(read, context);
    return;
  }
  const columns = stdout.isTTY === true ? terminalSize(stdout).columns : null;
  stdout.write(`${(await read(columns)).join('\n')}\n`);
}

/** On a terminal the table stays in place; into a pipe each refresh is a table of its own. */
async function watch(read: ReadTable, context: CommandContext): Promise<void> {
  const { stdout, clock, stop } = context;
  const isTerminal = stdout.isTTY === true;
  if (isTerminal) stdout.write(ENTER_SCREEN);
  try {
    // A first failure (no server, a bad window) ends the command; later ones may pass.
    let lines = await read(isTerminal ? terminalSize(stdout).columns : null);
    while (!stop.aborted) {
      stdout.write(
        isTerminal ? screenOf(lines, terminalSize(stdout).rows) : `${lines.join('\n')}\n\n`,
      );
      await clock.sleep(REFRESH_MS, stop);
      if (stop.aborted) return;
      lines = await refreshed(read, lines, isTerminal ? terminalSize(stdout).columns : null);
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    if (isTerminal) stdout.write(LEAVE_SCREEN);
  }
}

/** The new table; while the server does not answer, the old one with the reason above it. */
async function refreshed(
  read: ReadTable,
  shown: readonly string[],
  columns: number | null,
): Promise<string[]> {
  try {
    return await read(columns);
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
