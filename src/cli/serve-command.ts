import type { Command } from './command.ts';
import { expectNoPositionals, parseCommand } from './usage.ts';

const HELP = `Usage: tally serve

Starts the server, as npm start does. Its settings are environment variables (see
docs/operations.md); without any it keeps everything in memory and listens on 127.0.0.1:8080.
Ctrl-C or SIGTERM ends it once what is in flight is done.`;

export const serveCommand: Command = {
  summary: 'start the server',
  help: HELP,
  handlesSignals: true,
  async run(args) {
    expectNoPositionals(parseCommand(args, {}).positionals);
    // Loaded here only: no other command needs the server's libraries.
    const { runTally } = await import('../main.ts');
    return runTally();
  },
};
