import { expect, test } from 'vitest';
import { describeTarget, parseRedisUrl } from '../../../src/store/redis/redis-url.ts';
import { RedisRefusedError } from '../../../src/store/redis/redis-refused-error.ts';

test.each([
  ['redis://h:1', { kind: 'single', node: { host: 'h', port: 1 }, tls: false }],
  ['redis://h', { kind: 'single', node: { host: 'h', port: 6379 }, tls: false }],
  ['redis://h:1/0', { kind: 'single', node: { host: 'h', port: 1 }, tls: false }],
  ['rediss://h:1/', { kind: 'single', node: { host: 'h', port: 1 }, tls: true }],
  ['redis://[::1]:7', { kind: 'single', node: { host: '::1', port: 7 }, tls: false }],
  ['redis://user:p%40ss%3A@h:1', { kind: 'single', username: 'user', password: 'p@ss:' }],
  ['redis://:secret@h', { password: 'secret', node: { host: 'h', port: 6379 } }],
  [
    'redis+cluster://a:1,b,[::1]:3',
    {
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6379 },
        { host: '::1', port: 3 },
      ],
    },
  ],
  [
    'redis+sentinel://u:p@a:1,b/my%20master',
    {
      kind: 'sentinel',
      sentinels: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      primaryName: 'my master',
      username: 'u',
      password: 'p',
    },
  ],
])('%s is understood', (url, target) => {
  expect(parseRedisUrl(url)).toMatchObject(target);
});

test.each([
  ...['', 'h:1', 'http://h:1', 'redis://', 'redis://h:0', 'redis://h:65536', 'redis://h:x'],
  ...['redis://a:1,b:2', 'redis://h:1/1', 'redis://h:1/x', 'redis+cluster://h:1/0'],
  ...['redis+sentinel://h:1', 'redis+cluster://', 'redis+cluster://a,,b', 'redis://h?db=1'],
  'redis://u:%zz@h',
])('%j is refused', (url) => {
  expect(() => parseRedisUrl(url)).toThrow(RedisRefusedError);
});

test('neither a refusal nor a description repeats the password', () => {
  expect(() => parseRedisUrl('redis://u:secret@h:1/7')).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('secret') }),
  );
  const described = describeTarget(parseRedisUrl('redis+cluster://u:secret@h:1,[::1]:2'));
  expect(described).toBe('h:1,[::1]:2 (Cluster)');
});
