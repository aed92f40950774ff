import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { startRedis } from './support/redis-server.ts';
import { until } from './support/until.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  out: string;
  err: string;
}

let programs: Program[] = [];
afterEach(async () => {
  for (const { child, ended } of programs) {
    child.kill('SIGKILL');
    await ended;
  }
  programs = [];
});

function run(env: Record<string, string>): Program {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/main.ts'], {
    cwd: ROOT,
    env: { PATH, TALLY_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<Awaited<Program['ended']>>((resolve) => {
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  const program: Program = { child, ended, out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    program.out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    program.err += String(chunk);
  });
  programs.push(program);
  return program;
}

async function urlOf(program: Program): Promise<string> {
  await until('it listens', () => /"msg":"started"/.test(program.out));
  return /listens on (\S+)/.exec(program.out)?.[1] ?? '';
}

describe('the server as a process', () => {
  test('says in its first lines where it listens, what keeps the data and what does not', async () => {
    const program = run({});
    const url = await urlOf(program);
    const [first, second, third, fourth = ''] = program.out.split('\n');
    expect(first).toBe(`Tally listens on ${url} (API and worker in this process).`);
    expect(second).toMatch(/embedded, in the memory.*Nothing survives a restart/);
    expect(third).toContain('set REDIS_URL');
    expect(JSON.parse(fourth)).toMatchObject({ msg: 'started' });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    // Ctrl-C reaches a server under npm twice: as one wish to end.
    program.child.kill('SIGINT');
    program.child.kill('SIGINT');
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(program.out).toMatch(/"msg":"stopped"}\n$/);
    expect(program.err).toBe('');
  });

  test('a later second signal ends it at once, whatever is in flight', async () => {
    const program = run({ TALLY_GRACE_SECONDS: '60' });
    const url = await urlOf(program);
    const request = fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new ReadableStream({ start: (body) => body.enqueue(Buffer.from('[')) }),
      duplex: 'half',
    } as RequestInit).catch((error: unknown) => error);
    await until('the request is under way', async () => {
      const metrics = await fetch(`${url}/metrics`);
      return (await metrics.text()).includes('tally_body_bytes_in_flight 1\n');
    });
    program.child.kill('SIGTERM');
    await until('it stops', () => program.out.includes('"msg":"stopping"'));
    await until('it is ended by one more signal', () => {
      program.child.kill('SIGTERM');
      return program.child.exitCode !== null;
    });
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(await request).toBeInstanceOf(TypeError);
  });

  test('a port that is taken is said in one line', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    const { port } = other.address() as AddressInfo;
    const program = run({ TALLY_PORT: String(port) });
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.err).toBe(
      `tally: 127.0.0.1:${port} is taken, perhaps by another Tally: end that, or set TALLY_PORT\n`,
    );
    other.close();
  });

  test('bad settings are said all at once, a line each', async () => {
    const program = run({ TALLY_PORT: 'x', TALLY_HOST: '0.0.0.0', TALLY_TYPO: '1' });
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.err.split('\n')).toEqual([
      expect.stringMatching(/^tally: TALLY_HOST: /),
      expect.stringMatching(/^tally: TALLY_PORT: /),
      expect.stringMatching(/^tally: TALLY_TYPO: /),
      '',
    ]);
  });

  test('a Redis that is set to evict is refused with the setting named', async () => {
    const redis = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const program = run({ REDIS_URL: redis.url });
    expect(await program.ended).toEqual({ code: 1, signal: null });
    expect(program.err).toMatch(/^tally: .*maxmemory-policy.*\n$/);
    await redis.stop();
  });

  test('with Redis it says which, without the password, and leaves in time when it is gone', async () => {
    const redis = await startRedis({ args: ['--requirepass', 'hush'] });
    const url = redis.url.replace('//', '//:hush@');
    const program = run({ REDIS_URL: url, TALLY_GRACE_SECONDS: '1' });
    await urlOf(program);
    expect(program.out).toContain(`Store: Redis at 127.0.0.1:${redis.port}, 1 partition.`);
    await redis.kill();
    const beginMs = performance.now();
    program.child.kill('SIGTERM');
    expect(await program.ended).toEqual({ code: 0, signal: null });
    expect(performance.now() - beginMs).toBeLessThan(10_000);
    expect(program.out + program.err).not.toContain('hush');
    await redis.stop();
  });
});
