import { readFileSync } from 'node:fs';
import { appendFile, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TallyClient } from '../../src/client/tally-client.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';
import { until } from '../support/until.ts';
import { type Finished, runHere, startHere } from './cli-here.ts';
import { expectExactly, hitsOf, shownTop, told } from './log-oracle.ts';

const FIXTURE = fileURLToPath(new URL('../fixtures/access-small.log', import.meta.url));
const LOG = readFileSync(FIXTURE, 'utf8');
/** Of the fixture: events, and lines that are none. */
const GOOD = 293;
const BAD = 6;
/** Folded, and past the age up to which answers are cached. */
const SETTLED_MS = 2_000;

let tally: TestTally;
let client: TallyClient;
let folder = '';

beforeAll(async () => {
  tally = await startTestTally();
  client = new TallyClient({ url: tally.url, clock: tally.clock });
  folder = await mkdtemp(join(tmpdir(), 'tally-cli-'));
});

afterAll(async () => {
  await tally.close();
  await rm(folder, { recursive: true });
});

function importFile(path: string, ...options: string[]): Promise<Finished> {
  return runHere(['import', path, ...options], tally);
}

async function totalOf(stream: string): Promise<number> {
  await tally.clock.advance(SETTLED_MS);
  return (await client.top({ stream, window: '3d', k: 1 })).total;
}

describe('a log file with --now', () => {
  test('is counted exactly: the whole, every hour, and the visitors', async () => {
    const { code, stdout } = await importFile(FIXTURE, '--now', '--stream', 'small');
    expect(code).toBe(0);
    expect([told(stdout, 'lines'), told(stdout, 'accepted')]).toEqual([GOOD + BAD, GOOD]);
    expect(await totalOf('small')).toBe(GOOD);
    const shiftMs = told(stdout, 'clock') * HOUR_MS;
    expect(await expectExactly(client, 'small', hitsOf(LOG), shiftMs)).toBeGreaterThanOrEqual(5);
  });

  test('ends within the last hour', async () => {
    const { stdout } = await importFile(FIXTURE, '--now', '--stream', 'shifted');
    const endMs = Math.max(...hitsOf(LOG).map(({ atMs }) => atMs));
    const behindMs = tally.clock.nowMs() - (endMs + told(stdout, 'clock') * HOUR_MS);
    expect(behindMs).toBeGreaterThanOrEqual(0);
    expect(behindMs).toBeLessThan(HOUR_MS);
  });

  test('shows its bad lines by number and goes on', async () => {
    const { stderr, stdout, code } = await importFile(FIXTURE, '--now', '--stream', 'bad');
    expect(code).toBe(0);
    const problems = stderr.trimEnd().split('\n');
    expect(problems.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
      'line 21: no method and path in the request',
      'line 47: no method and path in the request',
      'line 73: the line is not valid UTF-8',
      'line 94: not in the combined log format',
      'line 125: the time does not exist',
    ]);
    expect(told(stdout, 'bad lines')).toBe(BAD);
  });

  test('imported again, also hours later, adds nothing and keeps its clock', async () => {
    const first = await importFile(FIXTURE, '--now', '--stream', 'again');
    for (const hours of [0, 1, 5]) {
      tally.clock.jumpTo(tally.clock.nowMs() + hours * HOUR_MS);
      const { stdout } = await importFile(FIXTURE, '--now', '--stream', 'again');
      expect([told(stdout, 'accepted'), told(stdout, 'duplicate')]).toEqual([0, GOOD]);
    }
    expect(await totalOf('again')).toBe(GOOD);
    const shiftMs = told(first.stdout, 'clock') * HOUR_MS;
    await expectExactly(client, 'again', hitsOf(LOG), shiftMs);
  });

  test('imported again under a label, or after the stream was deleted, counts again', async () => {
    const options = ['--now', '--stream', 'anew'];
    await importFile(FIXTURE, ...options);
    const labelled = await importFile(FIXTURE, ...options, '--label', 'twice');
    expect(told(labelled.stdout, 'accepted')).toBe(GOOD);
    expect(await totalOf('anew')).toBe(2 * GOOD);
    await client.deleteStream('anew');
    const deleted = await importFile(FIXTURE, ...options);
    expect(told(deleted.stdout, 'accepted')).toBe(GOOD);
    expect(await totalOf('anew')).toBe(GOOD);
  });

  test('in gzip is unpacked by its name, and is the same import', async () => {
    const path = join(folder, 'copy.log.gz');
    await writeFile(path, gzipSync(readFileSync(FIXTURE)));
    await importFile(FIXTURE, '--now', '--stream', 'packed');
    const { code, stdout } = await importFile(path, '--now', '--stream', 'packed');
    expect([code, told(stdout, 'accepted'), told(stdout, 'duplicate')]).toEqual([0, 0, GOOD]);
  });

  test('that has grown adds only what is new', async () => {
    const path = join(folder, 'growing.log');
    await copyFile(FIXTURE, path);
    await importFile(path, '--now', '--stream', 'growing');
    const line = '192.0.2.1 - - [10/Mar/2024:01:00:00 +0000] "GET /new HTTP/1.1" 200 1 "-" "-"\n';
    await appendFile(path, line.repeat(20));
    const { stdout } = await importFile(path, '--now', '--stream', 'growing');
    expect([told(stdout, 'accepted'), told(stdout, 'duplicate')]).toEqual([20, GOOD]);
  });

  test('trickles under --rate, and after Ctrl-C the next run completes it', async () => {
    const options = ['--now', '--stream', 'cut'];
    const run = startHere(['import', FIXTURE, ...options, '--rate', '40'], tally);
    await until('some of it has arrived', async () => (await totalOf('cut')) > 20);
    run.stop();
    const stopped = await run.finished;
    expect(stopped.code).toBe(130);
    const acceptedCount = told(stopped.stdout, 'accepted');
    expect(acceptedCount).toBeLessThan(GOOD);
    const { stdout } = await importFile(FIXTURE, ...options);
    expect(told(stdout, 'duplicate')).toBe(acceptedCount);
    expect(await totalOf('cut')).toBe(GOOD);
    await expectExactly(client, 'cut', hitsOf(LOG), told(stdout, 'clock') * HOUR_MS);
  });

  test('shows a bar on a terminal, and clears it away', async () => {
    const terminal = { columns: 60, rows: 20 };
    const args = ['import', FIXTURE, '--now', '--stream', 'bar'];
    const { stderr } = await runHere(args, { ...tally, terminal });
    expect(stderr).toMatch(/importing \[#*\.*\] +\d+% [\d,]+ lines/);
    expect(stderr.endsWith('\r\u001b[K')).toBe(true);
  });
});

describe('a pipe', () => {
  /** Log lines of the last minutes, so that they are not too old. */
  function freshLines(count: number): string[] {
    return Array.from({ length: count }, (_, index) => {
      const stamp = new Date(tally.clock.nowMs() - index * 1000).toUTCString();
      const [, day, month, year, time] = /, (\d+) (\w+) (\d+) (\S+)/.exec(stamp) ?? [];
      const request = `"GET /${index % 5} HTTP/1.1" 200 1`;
      return `192.0.2.${index % 9} - - [${day}/${month}/${year}:${time} +0000] ${request}\n`;
    });
  }

  test('that stays open is sent while it is silent, and counts once when it comes again', async () => {
    const lines = freshLines(50);
    const run = startHere(['import', '-', '--stream', 'tail'], tally);
    run.stdin.write(lines.slice(0, 30).join(''));
    await until('what was written is there', async () => (await totalOf('tail')) === 30);
    run.stdin.end(lines.slice(30).join(''));
    expect(await run.finished).toMatchObject({ code: 0, stderr: '' });
    expect(await totalOf('tail')).toBe(50);
    const { stdout } = await runHere(['import', '-', '--stream', 'tail'], tally, lines.join(''));
    expect([told(stdout, 'accepted'), told(stdout, 'duplicate')]).toEqual([0, 50]);
  });

  test('that is ended by Ctrl-C is counted as far as it was read', async () => {
    const run = startHere(['import', '-', '--stream', 'ended'], tally);
    run.stdin.write(freshLines(3).join(''));
    await until('the lines are there', async () => (await totalOf('ended')) === 3);
    run.stop();
    const { code, stdout } = await run.finished;
    expect([code, told(stdout, 'accepted')]).toEqual([130, 3]);
  });

  test('with more streams than cells are kept for is sent as it comes, and counted once', async () => {
    const lines = Array.from({ length: 51_000 }, (_, index) => {
      return `{"item":"${index}","stream":"many-${index % 51}"}\n`;
    }).join('');
    const { stdout } = await runHere(['import', '-', '--format', 'ndjson'], tally, lines);
    expect([told(stdout, 'accepted'), told(stdout, 'duplicate')]).toEqual([51_000, 0]);
    expect(await totalOf('many-50')).toBe(1_000);
  });

  test('takes ndjson, csv and json, with streams of their own', async () => {
    const ndjson = '{"item":"a","stream":"own"}\n{"item":"b","actor":"u","count":5}\n{"item":7}\n';
    const csv = 'url,who\n/x,me\n/x,you\n';
    const json = '{"events":[{"item":"z"},{"item":"z"}]}';
    const from = (format: string, input: string, ...more: string[]): Promise<Finished> =>
      runHere(['import', '-', '--format', format, '--stream', 'mixed', ...more], tally, input);
    const results = [
      await from('ndjson', ndjson),
      await from('csv', csv, '--item', 'url', '--actor', 'who'),
      await from('json', json),
    ];
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(results.map(({ stdout }) => told(stdout, 'accepted'))).toEqual([2, 2, 2]);
    expect(await totalOf('mixed')).toBe(9);
    expect(await totalOf('own')).toBe(1);
    expect(await shownTop(client, 'mixed', '1h')).toEqual([
      ['b', 5],
      ['/x', 2],
      ['z', 2],
    ]);
    expect(await client.distinct({ stream: 'mixed' })).toMatchObject({ estimate: 3 });
  });
});

describe('what goes wrong', () => {
  test('events that are too old are counted by their code', async () => {
    const { code, stdout } = await importFile(FIXTURE, '--stream', 'old');
    expect([code, told(stdout, 'rejected')]).toEqual([0, GOOD]);
    expect(stdout).toMatch(/too_old \d+/);
  });

  test('an input that cannot be used is told in one line', async () => {
    const csv = join(folder, 'no-item.csv');
    const untimed = join(folder, 'untimed.ndjson');
    const cut = join(folder, 'cut.log.gz');
    await writeFile(csv, 'a,b\n1,2\n');
    await writeFile(untimed, '{"item":"a"}\n');
    await writeFile(cut, gzipSync(readFileSync(FIXTURE)).subarray(0, 900));
    const results = await Promise.all([
      importFile(csv),
      importFile(untimed, '--now'),
      importFile(cut),
      importFile(join(folder, 'nowhere.log')),
    ]);
    expect(results.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
    const [noColumn, noTime, cutOff, missing] = results.map(({ stderr }) => stderr);
    expect(noColumn).toBe('tally: the header row has no column "item"\n');
    expect(noTime).toBe('tally: no line has a time that --now could shift\n');
    expect(cutOff).toMatch(/^tally: cannot read the input: .*\n$/m);
    expect(missing).toMatch(/^tally: cannot read .*: there is no such file\n$/);
  });
});
