import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

test('bench:boards runs at a small size: right answers, and every row of its tables', async () => {
  const args = ['--import', 'tsx', 'bench/boards.ts', '--smoke'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  for (const what of ['raw', 'plain Express,']) {
    for (const command of ['ZREVRANGE 0 9', 'ZREVRANK']) {
      expect(stdout).toContain(`| ${what} ${command} `);
    }
  }
  for (const ties of ['competition', 'earliest']) {
    for (const parts of ['1 part', '4 parts']) {
      for (const what of [': top 10', ': rank', ': around 5', ': page at 1,000', ' ']) {
        expect(stdout).toContain(`| ${parts}, ${ties}${what}`);
      }
    }
  }
  expect(stdout).toMatch(
    /memory: bytes a member, .*: plain sorted set \d+, competition \d+, earliest \d+/,
  );
}, 60_000);
