import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('npm run bench:top', () => {
  it('runs at a small size: right answers from both, and every row of its tables', async () => {
    const args = ['--import', 'tsx', 'bench/top.ts', '--smoke'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
    const rows = ['ZUNIONSTORE and', 'Tally, cold ', 'Tally, the same', 'Tally, first request'];
    rows.push('/top?window=1h', 'Express hello-world', 'ratio');
    const lines = stdout.split('\n');
    const missing = rows.filter((row) => !lines.some((line) => line.startsWith(`| ${row}`)));
    expect(missing).toEqual([]);
    expect(stdout).toMatch(/^result [0-9a-f]{16}$/m);
  }, 60_000);
});
