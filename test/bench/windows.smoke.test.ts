import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NO_SCANS = 'no sqlite3 here';

describe('npm run bench:windows', () => {
  it('runs at a small size: right answers from all, and every row of its tables', async () => {
    const args = ['--import', 'tsx', 'bench/windows.ts', '--smoke'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
    const windows = ['1 h', '1 h, quiet', '24 h', '30 d', '400 d'];
    const rows = windows.flatMap((window) => [`${window}, cold`, `${window}, warm`]);
    for (const window of windows.slice(0, 3)) {
      rows.push(`${window}, ZUNIONSTORE and`);
      // The shell of SQLite is not among what npm test needs.
      if (!stdout.includes(NO_SCANS))
        rows.push(`${window}, SQLite, index`, `${window}, SQLite, full`);
    }
    const lines = stdout.split('\n');
    const missing = rows.filter((row) => !lines.some((line) => line.startsWith(`| ${row}`)));
    expect(missing).toEqual([]);
    expect(stdout).toMatch(/^result [0-9a-f]{16}$/m);
  }, 60_000);
});
