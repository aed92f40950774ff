import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startTestTally, type TestTally } from '../support/tally.ts';
import { type Finished, HastyClock, startHere } from './cli-here.ts';

let tally: TestTally;
let folder: string;

beforeEach(async () => {
  tally = await startTestTally();
  folder = await mkdtemp(join(tmpdir(), 'tally-board-'));
});
afterEach(async () => {
  await tally.close();
  await rm(folder, { recursive: true });
});

function run(...args: string[]): Promise<Finished> {
  return startHere(args, { url: tally.url, clock: new HastyClock() }).finished;
}

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

function linesOf(count: number, from = 0): string {
  const lines = Array.from(
    { length: count },
    (_, index) => `m${from + index},${1 + (index % 7)}\n`,
  );
  return lines.join('');
}

async function sumOf(board: string): Promise<string> {
  return (await tally.get(`/v1/boards/${board}/stats`)).json['sum'] as string;
}

test('a CSV file is imported, and counts once however often', async () => {
  const path = await file('scores.csv', `member,by\nana,3\n"b,o",4.\nana,2\n`);
  const first = await run('board', 'import', 'quiz', path);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/applied +3\n/);
  const again = await run('board', 'import', 'quiz', path);
  expect(again.stdout).toMatch(/applied +0\n +duplicate +3\n/);
  const shown = await run('board', 'top', 'quiz');
  expect(shown.stdout).toBe(
    [
      'quiz (all)',
      '2 members, 1 part',
      '',
      'rank  score  member',
      '   1      5  ana',
      '   2      4  b,o',
      '',
    ].join('\n'),
  );
  await run('board', 'import', 'quiz', path, '--label', 'once more');
  expect(await sumOf('quiz')).toBe('18');
});

test('a file that has grown since is imported from where it was', async () => {
  const path = await file('scores.csv', `member,by\n${linesOf(1_300)}`);
  await run('board', 'import', 'quiz', path);
  const before = Number(await sumOf('quiz'));
  await file('scores.csv', `member,by\n${linesOf(1_300)}${linesOf(900, 5_000)}`);
  const { stdout } = await run('board', 'import', 'quiz', path);
  expect(stdout).toMatch(/applied +900\n +duplicate +1,300\n/);
  const added = Array.from({ length: 900 }, (_, index) => 1 + (index % 7));
  expect(Number(await sumOf('quiz'))).toBe(before + added.reduce((a, b) => a + b, 0));
});

test('bad lines are shown and left out', async () => {
  const path = await file(
    'scores.ndjson',
    '{"member":"a","by":1}\nnot json\n{"member":"b"}\n{"member":"","by":1}\n{"member":"c","by":2}\n',
  );
  const { code, stdout, stderr } = await run('board', 'import', 'quiz', path);
  expect(code).toBe(0);
  expect(stdout).toMatch(/applied +2\n/);
  expect(stdout).toMatch(/bad lines +3\n/);
  expect(stderr).toBe(
    [
      'line 2: not JSON: not json',
      'line 3: expected by or score: {"member":"b"}',
      'line 4: member is empty: {"member":"","by":1}',
      '',
    ].join('\n'),
  );
});

test.each([
  [['board'], 2],
  [['board', 'top'], 2],
  [['board', 'import', 'b'], 2],
  [['board', 'import', 'b', 'scores.txt'], 2],
  [['board', 'import', 'b', 'nowhere.csv'], 1],
  [['board', 'top', 'b', '--k', '0'], 2],
  [['board', 'top', 'nope'], 1],
  [['board', '--help'], 0],
])('%j ends with %d', async (args, code) => {
  expect((await run(...args)).code).toBe(code);
});
