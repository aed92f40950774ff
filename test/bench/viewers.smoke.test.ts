import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

it('npm run bench:viewers meets its goals at a small size', async () => {
  const args = ['--import', 'tsx', 'bench/viewers.ts', '--smoke'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(stdout).toContain('all goals are met');
  expect(stdout.split('\n').filter((line) => /minutes|the hour/.test(line))).toHaveLength(4);
  expect(stdout).toMatch(/^result [0-9a-f]{16}$/m);
}, 60_000);
