import { defineConfig } from 'vitest/config';

// Suites under these folders start several real processes (a cluster, or servers that get
// killed). They run one file after the other, after everything else, so that they do not fight
// the parallel suites for the machine's two cores.
const SERIAL_SUITES = ['test/cluster/**/*.test.ts', 'test/chaos/**/*.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'parallel',
          include: ['test/**/*.test.ts'],
          exclude: SERIAL_SUITES,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'serial',
          include: SERIAL_SUITES,
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
