import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const GOAL_MAX_TO_MEAN = 1.15;

it('bench:skew shows the published figures, and the planner meets its goal', async () => {
  const args = ['--import', 'tsx', 'bench/skew.ts', '--smoke'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const cellsOf = (name: string): string[][] =>
    stdout
      .split('\n')
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .filter(([, first]) => first === name);

  const figuresOf = (name: string): string[] => cellsOf(name)[0]!.slice(2, 5);
  expect(figuresOf('keys counted')).toEqual(['1.06', '6.65 %', '0']);
  expect(figuresOf('load')).toEqual(['3.01', '18.81 %', '0']);
  const byHand = ['2.13', '13.32 %', '1', '100.0, most 100', '16.0, most 16'];
  expect(cellsOf('the hottest in 100, by hash')[0]!.slice(2, 7)).toEqual(byHand);

  const [byMd5, byKeys] = cellsOf('automatic, round-robin');
  expect(Number(byMd5![2])).toBeLessThanOrEqual(GOAL_MAX_TO_MEAN);
  expect(Number(byMd5![4])).toBeGreaterThan(50);
  const most = /\.\.(\d\.\d\d)\]$/.exec(byKeys![2]!)![1];
  expect(Number(most)).toBeLessThanOrEqual(GOAL_MAX_TO_MEAN);
  expect(figuresOf('automatic, equal load')).toEqual(['1.06', '6.65 %', '0']);
  expect(stdout).not.toContain('missed');
});
