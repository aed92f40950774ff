import { test } from 'vitest';
import { MODEL_TIME_LIMIT_MS, runModel } from './model-runs.ts';
import { memoryBoard } from './real-board.ts';

const COMMANDS_MIN = 9_000;

test(
  'a board in memory answers every question like a plain list that is sorted',
  async () => {
    const counts = { commands: 0 };
    await runModel({
      ...{ counts, commandsMin: COMMANDS_MIN, maxCommands: 120, hasHours: () => true },
      open: async () => memoryBoard(counts),
    });
    console.log(`model of boards, memory: ${counts.commands} commands`);
  },
  MODEL_TIME_LIMIT_MS,
);
