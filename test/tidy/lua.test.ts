import { expect, test } from 'vitest';
import { missingHeaderWords, undeclaredKeys } from './lua.ts';

const HEADER = `#!lua
--[[
  Purpose  add one.
  KEYS     1 counter
  ARGV     none
  Returns  the new value
  Atomic because  it is one command.
  Bound    one command
]]
`;

function keysOf(code: string): string[] {
  return undeclaredKeys({ path: 'a.lua', text: HEADER + code });
}

test('a full header is accepted and each missing word is named', () => {
  expect(missingHeaderWords({ path: 'a.lua', text: HEADER })).toEqual([]);
  const withoutBound = HEADER.replace('Bound', 'Limit');
  expect(missingHeaderWords({ path: 'a.lua', text: withoutBound })).toEqual([
    'the header lacks "Bound"',
  ]);
  expect(missingHeaderWords({ path: 'a.lua', text: `return 1\n${HEADER}` })).toHaveLength(6);
});

test.each([
  "redis.call('INCR', KEYS[1])",
  "redis.call('TIME')",
  "local counter = KEYS[1]\nredis.call('INCR', counter)",
  "local a, b = KEYS[1], KEYS[2]\nredis.call('GET', b)",
  "for i = 1, 3 do redis.pcall('GET', KEYS[i + 1]) end",
  "local function add(counter_key)\n  redis.call('INCR', counter_key)\nend",
  "for _, key in ipairs(keys) do\n  redis.call('INCR', key)\nend",
  "local stream = { record = KEYS[4], count = 1 }\nredis.call('HGET', stream.record, 'a')",
  "ring.current = KEYS[i]\nredis.call('HLEN', ring.current)",
  "-- redis.call('INCR', 'in a comment')",
])('declared: %s', (code) => {
  expect(keysOf(code)).toEqual([]);
});

test.each([
  "redis.call('INCR', 'counter')",
  "redis.call('INCR', ARGV[1])",
  "redis.call('INCR', KEYS[1] .. ':more')",
  "local made = 'a' .. ARGV[1]\nredis.call('INCR', made)",
  "local a, b = KEYS[1], ARGV[1]\nredis.call('GET', b)",
  "redis.pcall('DEL', unpack(ARGV))",
  "local key = ARGV[1]\nredis.call('GET', key)",
  "local stream = { record = ARGV[4] }\nredis.call('HGET', stream.record, 'a')",
  "local stream = { record = KEYS[4] .. 'x' }\nredis.call('HGET', stream.record, 'a')",
])('undeclared: %s', (code) => {
  expect(keysOf(code)).toHaveLength(1);
});
