/** The command line as real processes, talking to a real server in real time. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TallyClient } from '../../src/client/tally-client.ts';
import { readConfig } from '../../src/config.ts';
import { type RunningTally, startTally } from '../../src/main.ts';
import { HOUR_MS } from '../../src/streams/buckets.ts';
import { until } from '../support/until.ts';
import { startCli } from './cli-process.ts';
import { expectExactly, hitsOf, told } from './log-oracle.ts';

const SAMPLE = fileURLToPath(new URL('../../../shared/data/access-sample.log.gz', import.meta.url));

let tally: RunningTally;
let client: TallyClient;
let env: Record<string, string> = {};

beforeAll(async () => {
  tally = await startTally(readConfig({ TALLY_PORT: '0', TALLY_LOG_LEVEL: 'silent' }));
  client = new TallyClient({ url: tally.url });
  env = { TALLY_URL: tally.url };
});

afterAll(async () => {
  await tally.close();
});

async function totalOf(stream: string): Promise<number> {
  return (await client.top({ stream, window: '3d', k: 1 })).total;
}

test.skipIf(!existsSync(SAMPLE))(
  'a real log of 50 hours, half of it out of order, is counted exactly, also when stopped by ' +
    'Ctrl-C and imported again (needs ../shared/data/access-sample.log.gz)',
  async () => {
    const hits = hitsOf(gunzipSync(readFileSync(SAMPLE)).toString('utf8'));
    const args = ['import', SAMPLE, '--now', '--stream', 'sample'];
    const first = startCli([...args, '--rate', '2000'], env);
    await until('some of it has arrived', async () => (await totalOf('sample')) > 0);
    first.child.kill('SIGINT');
    const stopped = await first.finished;
    expect(stopped.code).toBe(130);
    const acceptedCount = told(stopped.stdout, 'accepted');
    expect(acceptedCount).toBeLessThan(hits.length);

    const second = await startCli(args, env).finished;
    expect(second.code).toBe(0);
    expect(told(second.stdout, 'duplicate')).toBe(acceptedCount);
    expect(told(second.stdout, 'accepted')).toBe(hits.length - acceptedCount);
    await until('all is counted', async () => (await totalOf('sample')) === hits.length);
    const shiftMs = told(second.stdout, 'clock') * HOUR_MS;
    const hours = await expectExactly(client, 'sample', hits, shiftMs);
    expect(hours).toBeGreaterThanOrEqual(49);
  },
);

test('a pipe that stays open is counted as it comes', async () => {
  const run = startCli(['import', '-', '--format', 'ndjson', '--stream', 'live'], env);
  run.child.stdin?.write('{"item":"a"}\n{"item":"b"}\n');
  await until('both are counted', async () => (await totalOf('live')) === 2);
  run.child.stdin?.end('{"item":"c"}\n');
  const { code, stdout, stderr } = await run.finished;
  expect([code, told(stdout, 'accepted'), stderr]).toEqual([0, 3, '']);
});

test('the server starts with tally serve, tells where it is, and ends by SIGTERM', async () => {
  const run = startCli(['serve'], { TALLY_PORT: '0', TALLY_LOG_LEVEL: 'silent' });
  await until('it listens', () => run.stdout().includes('Tally listens on http://127.0.0.1:'));
  run.child.kill('SIGTERM');
  expect(await run.finished).toMatchObject({ code: 0, stderr: '' });
});

test('a reader that closes the pipe early is no failure', async () => {
  const run = startCli(['help', 'import'], env);
  run.child.stdout?.destroy();
  expect(await run.finished).toMatchObject({ code: 0, stderr: '' });
});

test('a server that is not there is told in one line', async () => {
  const run = startCli(['top', '--url', 'http://127.0.0.1:9'], {});
  const { code, stderr } = await run.finished;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tally: .*127\.0\.0\.1:9 cannot be reached.*npm start.*\n$/);
});
