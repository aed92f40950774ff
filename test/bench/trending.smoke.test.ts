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
      ['--import', 'tsx', 'bench/trending.ts', ...args],
      { cwd: ROOT },
    );
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

describe('npm run bench:trending', () => {
  it('finds what was planted and nothing else, with sketches of both sizes', async () => {
    const { code, output } = await runBench('--smoke');
    expect(output).toContain('all goals are met');
    expect(code).toBe(0);
    const planted = output.split('\n').filter((line) => line.startsWith('| planted'));
    expect(planted).toHaveLength(4);
    for (const row of planted) {
      const cells = row.split('|').map((cell) => cell.trim());
      const [shape, by, windows, exact] = cells.slice(2, 6);
      const [bursts, botRows] = [cells[6], cells[10]];
      expect([windows, bursts]).toEqual(['24', '12']);
      if (by === 'events') expect(exact).toBe(shape === 'as built' ? '24' : '0');
      // A bot is as unusual by events as a burst: the bench must have put some there to be seen.
      expect(Number(botRows) > 0).toBe(by === 'events');
    }
    expect(output).toMatch(/^result [0-9a-f]{16}$/m);
  });

  it('refuses an argument that it does not know', async () => {
    expect((await runBench('--smok')).code).toBe(2);
  });
});
