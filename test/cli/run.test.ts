import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TallyClient } from '../../src/client/tally-client.ts';
import { startTestTally, type TestTally } from '../support/tally.ts';
import { until } from '../support/until.ts';
import { HastyClock, runHere, startHere } from './cli-here.ts';

const COMMANDS = ['serve', 'import', 'top', 'trending', 'demo'];
const ENTER_SCREEN = '\u001b[?1049h';
const LEAVE_SCREEN = '\u001b[?1049l';

let tally: TestTally;
let client: TallyClient;

beforeAll(async () => {
  tally = await startTestTally();
  client = new TallyClient({ url: tally.url, clock: tally.clock });
  await client.sendEvents([
    { item: '/a', actor: 'x', count: 2 },
    { item: '/b', actor: 'y' },
  ]);
  await tally.fold();
});

afterAll(async () => {
  await tally.close();
});

describe('help', () => {
  test.each([[[]], [['help']], [['--help']], [['-h']]])(
    'of %j lists the commands',
    async (args) => {
      const { code, stdout } = await runHere(args, tally);
      expect(code).toBe(0);
      for (const name of COMMANDS) expect(stdout).toContain(`  ${name} `);
    },
  );

  test.each(COMMANDS)('of %s says how to use it', async (name) => {
    const asked = [
      await runHere([name, '--help'], tally),
      await runHere([name, '-h'], tally),
      await runHere(['help', name], tally),
    ];
    for (const { code, stdout } of asked) {
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Usage: tally ${name}`));
    }
  });
});

test.each([
  [['nope'], 'there is no command "nope"'],
  [['help', 'nope'], 'there is no command "nope"'],
  [['serve', 'x'], 'unexpected argument "x"'],
  [['serve', '--port', '1'], "Unknown option '--port'"],
  [['top', 'x'], 'unexpected argument "x"'],
  [['top', '--k', '0'], '--k takes a whole number from 1 to 500'],
  [['top', '--k', '1e2'], '--k takes a whole number from 1 to 500'],
  [['top', '--k'], "Option '--k <value>' argument missing"],
  [['top', '--k', '1', '--k', '2'], '--k is given twice'],
  [['top', '--stream', '..'], '".." cannot be used as a name'],
  [['top', '--url', 'nowhere'], '"nowhere" is not an http or https URL'],
  [['top', '--by', 'items'], '--by takes events or actors'],
  [['trending', 'x'], 'unexpected argument "x"'],
  [['trending', '--k', '501'], '--k takes a whole number from 1 to 500'],
  [['trending', '--baseline', '29'], '--baseline takes a whole number from 1 to 28'],
  [['trending', '--baseline', '0'], '--baseline takes a whole number from 1 to 28'],
  [['demo', '--rate', '20001'], '--rate takes a whole number from 1 to 20000'],
  [['import'], 'give one file to import, or - for standard input'],
  [['import', 'a.log', 'b.log'], 'give one file to import, or - for standard input'],
  [['import', 'a.txt'], 'the name does not tell the format'],
  [['import', 'a.log', '--format', 'xml'], '--format is one of combined, ndjson, csv, json'],
  [['import', 'a.log', '--rate', '0'], '--rate takes a whole number from 1 to 10000000'],
  [['import', 'a.log', '--item', 'time'], '--item is one of address, user'],
  [['import', 'a.log', '--stream', ''], 'stream is empty'],
  [['import', '-', '--now'], '--now needs a file'],
  [['import', '/dev/null', '--format', 'csv', '--now'], '--now needs a file'],
])('%j is refused in one line', async (args, reason) => {
  const { code, stdout, stderr } = await runHere(args, tally);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^tally: [^\n]+\n$/);
  expect(stderr).toContain(reason);
});

describe('top', () => {
  test('prints the table once', async () => {
    const { code, stdout, stderr } = await runHere(['top'], tally);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').slice(1)).toEqual([
      'total 3, distinct 2, exact',
      '',
      'rank  count  item',
      '   1      2  /a',
      '   2      1  /b',
      '',
    ]);
  });

  test('asks for the stream, the window and its end', async () => {
    const args = ['--stream', 'none', '--window', '24h', '--until', '2026-11-30T10:00:00Z'];
    const { stdout } = await runHere(['top', ...args, '--k', '3'], tally);
    expect(stdout).toContain('none: 2026-11-29T10:00:00.000Z to 2026-11-30T10:00:00.000Z');
    expect(stdout).toContain('(no events in this window)');
  });

  test('asks for a period of a zone', async () => {
    const args = ['top', '--stream', 'none', '--period', 'yesterday', '--tz', 'Africa/Cairo'];
    const { stdout } = await runHere(args, tally);
    expect(stdout).toContain('none: 2026-11-28T22:00:00.000Z to 2026-11-29T22:00:00.000Z');
  });

  test('asks for a segment', async () => {
    await client.putStream('parts', { dimensions: [{ name: 'country' }] });
    await client.sendEvents([
      { stream: 'parts', item: '/in', dims: { country: 'IN' } },
      { stream: 'parts', item: '/fr', dims: { country: 'FR' } },
    ]);
    await tally.fold();
    const { stdout } = await runHere(['top', '--stream', 'parts', '--where', 'country:IN'], tally);
    expect(stdout).toMatch(/^parts \(country:IN\): /);
    expect(stdout).toContain('/in');
    expect(stdout).not.toContain('/fr');
  });

  test('ranks by actors', async () => {
    await client.sendEvents([
      { stream: 'bots', item: '/bot', actor: 'b', count: 1_000 },
      { stream: 'bots', item: '/liked', actor: 'x' },
      { stream: 'bots', item: '/liked', actor: 'y' },
    ]);
    await tally.fold();
    const { stdout } = await runHere(['top', '--stream', 'bots', '--by', 'actors'], tally);
    expect(stdout.split('\n').slice(3)).toEqual([
      'rank  actors  events  item',
      '   1       2       2  /liked',
      '   2       1   1,000  /bot',
      '',
    ]);
  });

  test('tells what the server refuses', async () => {
    const { code, stderr } = await runHere(['top', '--window', '1H'], tally);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tally: .*\(invalid_parameter\)\n$/);
  });

  test('--watch refreshes on a screen of its own, and Ctrl-C gives the old one back', async () => {
    const terminal = { columns: 70, rows: 20 };
    const run = startHere(['top', '--stream', 'watched', '--watch'], { ...tally, terminal });
    await until('the first table is shown', () => run.stdout().includes('(no events'));
    await client.sendEvents([{ stream: 'watched', item: '/new' }]);
    await until('the new event is shown', async () => {
      await tally.clock.advance(1_000);
      return run.stdout().includes('/new');
    });
    run.stop();
    const { code, stdout } = await run.finished;
    expect(code).toBe(0);
    expect(stdout.startsWith(ENTER_SCREEN)).toBe(true);
    expect(stdout.endsWith(LEAVE_SCREEN)).toBe(true);
  });

  test('--watch goes on while the server does not answer, and says so', async () => {
    const other = await startTestTally();
    const run = startHere(['top', '--watch'], { url: other.url, clock: tally.clock });
    await until('a table is shown', () => run.stdout().includes('(no events'));
    await other.close();
    await until('the failure is shown', async () => {
      await tally.clock.advance(1_000);
      return run.stdout().includes('NO ANSWER');
    });
    run.stop();
    expect((await run.finished).code).toBe(0);
    expect(run.stdout()).toMatch(/NO ANSWER, this is the last one: unreachable.*\ndefault: /);
  });
});

describe('trending', () => {
  test('prints what is above the usual, with the reason', async () => {
    const dayMs = 24 * 3_600_000;
    const usual = Array.from({ length: 7 }, (_, index) => ({
      at: tally.clock.nowMs() - (index + 1) * dayMs,
      count: 10,
    }));
    const events = ['/calm', '/burst'].flatMap((item) => [
      ...usual.map((day) => ({ ...day, item })),
      { item, count: item === '/calm' ? 10 : 200 },
    ]);
    const rest = [...usual, { count: 10 }].map((day) => ({ ...day, item: '/rest', count: 5_000 }));
    for (const event of [...events, ...rest]) {
      await client.sendEvents([{ ...event, stream: 'trends' }]);
    }
    await tally.fold();
    const { code, stdout, stderr } = await runHere(['trending', '--stream', 'trends'], tally);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('compared with the same time on 7 of 7 earlier days (UTC)');
    expect(stdout).toMatch(/rank +count +usual +lift +score +item\n +1 +200 .* \/burst\n$/);
  });
});

describe('demo', () => {
  test('sends the whole night and says what to look at', async () => {
    const args = ['demo', '--rate', '20', '--minutes', '1', '--seed', '7'];
    const { code, stdout } = await runHere(args, { url: tally.url, clock: new HastyClock() });
    expect(code).toBe(0);
    expect(stdout).toContain('tally top --stream likes --watch');
    expect(stdout).toContain("0:21  the captain's photo is posted");
    const sentCount = Number(/(\d+) events sent/.exec(stdout)?.[1]);
    await tally.clock.advance(2_000);
    const streams = ['likes', 'views', 'hashtags'];
    const tops = await Promise.all(streams.map((stream) => client.top({ stream })));
    const quiz = await client.top({ stream: 'quiz' });
    const total = tops.reduce((sum, top) => sum + top.total, quiz.total / 10);
    expect(total).toBe(sentCount);
    expect(tops[0]?.items[0]?.item).toBe('post:42');
  });

  test('ends by Ctrl-C with a count of what was sent', async () => {
    const run = startHere(['demo', '--rate', '100'], tally);
    await until('it has begun', async () => {
      await tally.clock.advance(250);
      return run.stdout().includes('the last overs');
    });
    run.stop();
    const { code, stdout } = await run.finished;
    expect(code).toBe(0);
    expect(stdout).toMatch(/\d+ events sent\n$/);
  });
});
