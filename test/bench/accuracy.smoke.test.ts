import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const runFile = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

async function runBench(...args: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout } = await runFile(
      process.execPath,
      ['--import', 'tsx', 'bench/accuracy.ts', ...args],
      { cwd: ROOT },
    );
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

describe('npm run bench:accuracy', () => {
  it('meets its goals at the small size, with sketched summaries and no broken bound', async () => {
    const { code, output } = await runBench('--smoke');
    expect(output).toContain('all goals are met');
    expect(code).toBe(0);
    const rows = output.split('\n').filter((line) => line.startsWith('| Zipf'));
    expect(rows).toHaveLength(12);
    for (const row of rows) {
      const cells = row.split('|').map((cell) => cell.trim());
      const [violations, sketched] = [cells[7], cells[8]];
      expect(violations).toBe('0');
      expect(sketched).toMatch(/^(\d+) of \1$/);
    }
    expect(output).toMatch(/^result [0-9a-f]{16}$/m);
  });

  it('refuses an argument that it does not know', async () => {
    expect((await runBench('--smok')).code).toBe(2);
  });
});
