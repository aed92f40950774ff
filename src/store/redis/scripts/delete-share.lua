#!lua flags=allow-oom
--[[ delete-share.lua
  Purpose   Drops what one partition holds of a share, with all that waits in the log for it.
  KEYS      1 the share's record  2 its open parts  3 their blobs  4 due  5 listed  6 log
            7 fence
  ARGV      1 '1': write the fence key, else '0'   2 key of the share   3 its next generation
            4 how long the record must outlive the deletion, in ms
  Returns   0 deleted, now or before by a repetition of the same call
  Atomic    because a fold between two steps would bring parts back.
  Bound     constant; the freeing of large values is left to Redis's own thread.
]]
local RECORD, OPEN, PARTS, DUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local LISTED, LOG, FENCE = KEYS[5], KEYS[6], KEYS[7]
local write_fence = ARGV[1] == '1'
local name = ARGV[2]
local next_generation = ARGV[3]
local keep_ms = tonumber(ARGV[4])
local DELETED = 0

redis.call('ZCARD', DUE)
redis.call('ZCARD', LISTED)
local last = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
local is_repetition = redis.pcall('HGET', RECORD, 'generation') == next_generation

if not is_repetition then
  if redis.call('TYPE', RECORD).ok ~= 'hash' then
    redis.call('UNLINK', RECORD)
  end
  redis.call('HSET', RECORD, 'generation', next_generation)
  if last then
    redis.call('HSET', RECORD, 'deletedThrough', last[1])
  end
  -- Summaries of earlier generations must not come back to life: the record stays until they
  -- have expired.
  local time = redis.call('TIME')
  local keep_until_ms = tonumber(time[1]) * 1000 + keep_ms
  if redis.call('PEXPIRETIME', RECORD) < keep_until_ms then
    redis.call('PEXPIREAT', RECORD, keep_until_ms)
  end
  redis.call('UNLINK', OPEN, PARTS)
  redis.call('ZREM', DUE, name)
  redis.call('ZREM', LISTED, name)
end
if write_fence then
  redis.call('SET', FENCE, '1')
end
return DELETED
