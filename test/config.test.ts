import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  readClientConfig,
  readConfig,
  redactConfig,
  redactUrl,
  SETTINGS,
} from '../src/config.ts';

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('readConfig', () => {
  test('without settings gives the documented defaults, frozen', () => {
    const config = readConfig({ PATH: '/bin' });
    expect(config).toMatchObject({
      redisUrl: null,
      host: '127.0.0.1',
      port: 8080,
      role: 'all',
      ackReplicas: 0,
      hashSecret: null,
      partitions: null,
      maxEventsPerRequest: 10_000,
      maxBodyBytes: 8 * 2 ** 20,
      retention: { minute: 25 * 3_600_000, hour: 32 * 86_400_000, day: 400 * 86_400_000 },
      maxFutureMs: 60_000,
      idempotencyTtlMs: 86_400_000,
      serverIdTtlMs: 600_000,
    });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.retention)).toBe(true);
  });

  test('an empty variable counts as unset', () => {
    expect(readConfig({ TALLY_PORT: '', REDIS_URL: '' })).toMatchObject({
      port: 8080,
      redisUrl: null,
    });
  });

  test('reports all faults at once, each with its name', () => {
    const faults = faultsOf({ TALLY_PORT: 'abc', TALLY_ROLE: 'boss', TALLY_PROT: '80' });
    expect(faults).toEqual([
      'TALLY_PORT: expected a whole number from 0 to 65535',
      'TALLY_ROLE: expected one of all, api, worker',
      'TALLY_PROT: there is no such setting',
    ]);
  });

  test.for([
    ['TALLY_PORT', '65535', '65536'],
    ['TALLY_PORT', '0', '-1'],
    ['TALLY_PORT', '80', '80.5'],
    ['TALLY_PORT', '80', '0x50'],
    ['TALLY_PORT', '80', '1e2'],
    ['TALLY_MAX_EVENTS_PER_REQUEST', '1', '0'],
    ['TALLY_HOUR_RETENTION_DAYS', '3', '2'],
    ['TALLY_DAY_RETENTION_DAYS', '3660', '3661'],
    ['TALLY_PARTITIONS', '64', '65'],
    ['TALLY_HASH_SECRET', '0123456789abcdef', '0123456789ABCDEF'],
    ['TALLY_HASH_SECRET', '0123456789abcdef', '0123456789abcde'],
    ['TALLY_LOG_LEVEL', 'silent', 'loud'],
    ['TALLY_URL', 'https://tally.example', 'ftp://tally.example'],
    ['TALLY_HOST', '127.8.9.1', '128.0.0.1'],
    ['TALLY_HOST', '::1', '::'],
    ['TALLY_HOST', 'localhost', '0.0.0.0'],
    ['TALLY_HOST', 'localhost', '127.0.0.1.example.com'],
    ['REDIS_URL', 'redis://127.0.0.1:6379', 'http://127.0.0.1:6379'],
    ['REDIS_URL', 'rediss://u:p@h:1', 'redis:'],
    ['REDIS_URL', 'redis+sentinel://a:1,b:2/main', 'sentinel://a:1'],
    ['REDIS_URL', 'redis+cluster://a:1,b:2', 'redis+nothing://a:1'],
  ])('%s may be %s but not %s', ([name = '', good = '', bad = '']) => {
    expect(faultsOf({ [name]: good })).toEqual([]);
    const faults = faultsOf({ [name]: bad });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name}: expected `));
  });

  test('an address that others can reach is refused, and the way is named', () => {
    expect(faultsOf({ TALLY_HOST: '0.0.0.0' })[0]).toContain('reverse proxy');
  });

  test.for([
    [{ TALLY_ROLE: 'worker' }, 'TALLY_ROLE: other than all needs REDIS_URL'],
    [{ TALLY_ROLE: 'api' }, 'TALLY_ROLE: other than all needs REDIS_URL'],
    [{ TALLY_ACK_REPLICAS: '1' }, 'TALLY_ACK_REPLICAS: needs REDIS_URL'],
    [
      { TALLY_MAX_BODY_BYTES: '2000', TALLY_MAX_BODY_BYTES_IN_FLIGHT: '1999' },
      'TALLY_MAX_BODY_BYTES_IN_FLIGHT: must not be less than TALLY_MAX_BODY_BYTES',
    ],
    [
      { TALLY_MINUTE_RETENTION_HOURS: '73', TALLY_HOUR_RETENTION_DAYS: '3' },
      'TALLY_HOUR_RETENTION_DAYS: hours must be kept at least as long as minutes',
    ],
    [
      { TALLY_DAY_RETENTION_DAYS: '31' },
      'TALLY_DAY_RETENTION_DAYS: days must be kept at least as long as hours',
    ],
    [
      { TALLY_IDEMPOTENCY_TTL_SECONDS: '10', TALLY_SERVER_ID_TTL_SECONDS: '11' },
      'TALLY_IDEMPOTENCY_TTL_SECONDS: must not be less than TALLY_SERVER_ID_TTL_SECONDS',
    ],
    [
      { TALLY_MAX_BACKLOG_BYTES: '2048', TALLY_MAX_BODY_BYTES: '4096' },
      'TALLY_MAX_BACKLOG_BYTES: must not be less than TALLY_MAX_BODY_BYTES',
    ],
  ] as const)('settings that do not fit together are refused: %o', ([env, fault]) => {
    expect(faultsOf({ ...env })).toEqual([fault]);
  });

  test('roles and acknowledging replicas are fine with Redis', () => {
    const env = { REDIS_URL: 'redis://h', TALLY_ROLE: 'worker', TALLY_ACK_REPLICAS: '1' };
    expect(readConfig(env)).toMatchObject({ role: 'worker', ackReplicas: 1 });
  });

  test('no fault repeats a secret', () => {
    const faults = faultsOf({ TALLY_HASH_SECRET: 'my-secret', REDIS_URL: 'x://u:my-secret@h' });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toContain('my-secret');
  });
});

describe('printing', () => {
  test('hides secrets and passwords, also those with an @', () => {
    const config = readConfig({
      REDIS_URL: 'redis://user:p@ss@host:6379',
      TALLY_HASH_SECRET: '0123456789abcdef',
    });
    expect(redactConfig(config)).toMatchObject({
      redisUrl: 'redis://***@host:6379',
      hashSecret: '***',
      port: 8080,
    });
    expect(redactUrl('redis+cluster://a:1,b:2')).toBe('redis+cluster://a:1,b:2');
  });
});

describe('readClientConfig', () => {
  test('reads the server’s address and nothing else', () => {
    expect(readClientConfig({ TALLY_PORT: 'abc' })).toEqual({ url: 'http://127.0.0.1:8080' });
    expect(readClientConfig({ TALLY_URL: 'http://h:1' })).toEqual({ url: 'http://h:1' });
    expect(() => readClientConfig({ TALLY_URL: 'h:1' })).toThrow('TALLY_URL: expected a URL');
  });
});

describe('docs/operations.md', () => {
  test('has every setting with its default and its meaning, and no other', () => {
    const page = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| `(TALLY|REDIS)_/.test(line));
    const expected = Object.entries(SETTINGS).map(
      ([name, { fallback, help }]) =>
        `| \`${name}\` | ${fallback === '' ? '(unset)' : `\`${fallback}\``} | ${help} |`,
    );
    expect(rows).toEqual(expected);
  });
});
