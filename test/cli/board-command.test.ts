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

test('what the board cannot keep is shown and left out, and stays out when it comes again', async () => {
  const text = `member,by\na,1\nb,0.5\n${'x'.repeat(513)},1\nc,1e999\nd,2\n`;
  const path = await file('scores.csv', text);
  const first = await run('board', 'import', 'quiz', path);
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(/applied +2\n.*\n.*\n +bad lines +3\n$/);
  expect(first.stderr).toMatch(/^line 4: member is longer than 512 bytes: x+…\n/);
  expect(first.stderr).toContain('line 5: by is too large: c,1e999\n');
  expect(first.stderr).toContain('line 3: must be a number of at most 0 decimals');
  await file('scores.csv', `${text}e,3\n`);
  const again = await run('board', 'import', 'quiz', path);
  expect(again.stdout).toMatch(/applied +1\n +duplicate +2\n/);
  expect(await sumOf('quiz')).toBe('6');
});

test('a line that is refused for what the board holds ends the import, and is named', async () => {
  const path = await file('scores.csv', `member,by\na,${Number.MAX_SAFE_INTEGER}\nb,1\na,1\n`);
  const { code, stdout, stderr } = await run('board', 'import', 'quiz', path);
  expect(code).toBe(1);
  expect(stdout).toMatch(/applied +2\n(.*\n)+ +not sent +1\n$/);
  expect(stderr).toMatch(/^tally: line 4: .*\(out_of_range\)\n$/);
});

test('a pipe is sent while it is silent, and as far as it was read when Ctrl-C ends it', async () => {
  const around = { url: tally.url, clock: new HastyClock() };
  const pipe = startHere(['board', 'import', 'quiz', '-'], around);
  pipe.stdin.write('{"member":"a","by":1}\n{"member":"b","by":2}\n{"member":"c","by":4}\n{"memb');
  await expect.poll(() => sumOf('quiz').catch(() => null)).toBe('7');
  pipe.stop();
  const { code, stdout } = await pipe.finished;
  expect(code).toBe(130);
  expect(stdout).toMatch(/lines +3\n +applied +3\n/);
});

test('without a server an import says so, and how to go on', async () => {
  const path = await file('scores.csv', 'member,by\na,1\n');
  const url = 'http://127.0.0.1:9';
  const { finished } = startHere(['board', 'import', 'b', path], { url, clock: new HastyClock() });
  const { code, stdout, stderr } = await finished;
  expect(code).toBe(1);
  expect(stdout).toMatch(/not sent +1\n$/);
  expect(stderr).toMatch(/^tally: .*nothing is counted twice\n$/);
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
