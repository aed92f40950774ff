import { expect, test } from 'vitest';
import { checkPrimary } from '../../../src/store/redis/server-checks.ts';
import { RedisRefusedError } from '../../../src/store/redis/redis-refused-error.ts';

const FACTS = {
  redis_version: '7.0.15',
  maxmemory_policy: 'noeviction',
  role: 'master',
  cluster_enabled: '0',
};

function check(facts: Partial<typeof FACTS>, isClusterClient = false): void {
  const lines = Object.entries({ ...FACTS, ...facts }).map(([name, value]) => `${name}:${value}`);
  checkPrimary('h:1', `# Server\r\n${lines.join('\r\n')}\r\n`, isClusterClient);
}

test.each([{}, { redis_version: '8.2.1' }, { redis_version: '10.0.0' }])(
  '%j is accepted',
  (facts) => {
    expect(() => check(facts)).not.toThrow();
  },
);

test.each([
  [{ redis_version: '6.2.14' }, /version 6\.2\.14; 7\.0 or later/],
  [{ redis_version: 'unknown' }, /7\.0 or later/],
  [{ maxmemory_policy: 'allkeys-lru' }, /maxmemory-policy allkeys-lru.*noeviction/],
  [{ maxmemory_policy: 'volatile-ttl' }, /maxmemory-policy/],
  [{ role: 'slave' }, /is a replica/],
  [{ cluster_enabled: '1' }, /redis\+cluster/],
])('%j is refused with the reason', (facts, message) => {
  expect(() => check(facts)).toThrow(RedisRefusedError);
  expect(() => check(facts)).toThrow(message);
});

test('a node of a cluster is accepted by a client of clusters', () => {
  expect(() => check({ cluster_enabled: '1' }, true)).not.toThrow();
});
