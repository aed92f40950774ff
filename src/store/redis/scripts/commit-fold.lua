#!lua flags=allow-oom
--[[ commit-fold.lua
  Purpose   Puts what a fold made of some log entries in their place, or does nothing.
  KEYS      1 log  2 blobs  3 state  4 damaged  5 due  6 listed  7 fence
            8.. three for each share: its record, its open parts, their blobs
  ARGV      1 '1': write the fence key, else '0'   2 number of entries   3 number of asides
            4 number of shares, then
            two for each entry: id, tag
            two for each aside: reason, blob
            six for each share: its key, generation, time of the wanted visit of the compaction in
            epoch ms, '1' if it is listed, else '0', time until which it is kept in epoch ms,
            number of parts; and after them three for each of its parts: tag, index line, blob
  Returns   0 applied | -1 conflict: an entry has gone or has another tag, or a share has another
            generation or keys that hold no hashes
  Atomic    because an entry that is gone before its parts exist is lost, and one that is still
            there after them is counted twice.
  Bound     the caller bounds entries, shares and parts. It frees what waits, so it may run when
            the memory is full.
]]
local LOG, BLOBS, STATE, DAMAGED = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local DUE, LISTED, FENCE = KEYS[5], KEYS[6], KEYS[7]
local write_fence = ARGV[1] == '1'
local entry_count = tonumber(ARGV[2])
local aside_count = tonumber(ARGV[3])
local share_count = tonumber(ARGV[4])
local FIRST_SHARE_KEY = 8
local APPLIED, CONFLICT = 0, -1

local next_arg = 5
local function take()
  next_arg = next_arg + 1
  return ARGV[next_arg - 1]
end

local entries, asides, shares = {}, {}, {}
for i = 1, entry_count do
  entries[i] = { id = take(), tag = take() }
end
for i = 1, aside_count do
  asides[i] = { reason = take(), blob = take() }
end
for i = 1, share_count do
  local key = FIRST_SHARE_KEY + (i - 1) * 3
  local share = {
    record = KEYS[key],
    open = KEYS[key + 1],
    parts = KEYS[key + 2],
    name = take(),
    generation = take(),
    compact_at_ms = take(),
    is_listed = take() == '1',
    kept_until_ms = tonumber(take()),
    part_count = tonumber(take()),
    first_part = next_arg,
  }
  next_arg = next_arg + share.part_count * 3
  shares[i] = share
end

-- Every key that is written below is read first: a wrong type fails here, before any write.
redis.call('HLEN', BLOBS)
redis.call('HLEN', STATE)
redis.call('ZCARD', DUE)
redis.call('ZCARD', LISTED)
local damaged_count = redis.call('XLEN', DAMAGED)

local folded_bytes = 0
for _, entry in ipairs(entries) do
  local fields = (redis.call('XRANGE', LOG, entry.id, entry.id)[1] or {})[2]
  if not fields or fields[2] ~= entry.tag then
    return CONFLICT
  end
  folded_bytes = folded_bytes + tonumber(fields[4])
end

local function holds_hash(key)
  local kind = redis.call('TYPE', key).ok
  return kind == 'hash' or kind == 'none'
end
for _, share in ipairs(shares) do
  if not (holds_hash(share.record) and holds_hash(share.open) and holds_hash(share.parts)) then
    return CONFLICT
  end
  if (redis.call('HGET', share.record, 'generation') or '0') ~= share.generation then
    return CONFLICT
  end
end

for _, share in ipairs(shares) do
  for i = share.first_part, share.first_part + (share.part_count - 1) * 3, 3 do
    redis.call('HSET', share.parts, ARGV[i], ARGV[i + 2])
    redis.call('HSET', share.open, ARGV[i], ARGV[i + 1])
  end
  redis.call('HSET', share.record, 'generation', share.generation)
  if redis.call('PEXPIRETIME', share.record) < share.kept_until_ms then
    redis.call('PEXPIREAT', share.record, share.kept_until_ms)
  end
  if share.is_listed then
    redis.call('ZADD', LISTED, 0, share.name)
  end
  redis.call('ZADD', DUE, 'LT', share.compact_at_ms, share.name)
end
local aside_bytes = 0
for _, aside in ipairs(asides) do
  redis.call('XADD', DAMAGED, '*', 'reason', aside.reason, 'blob', aside.blob)
  aside_bytes = aside_bytes + #aside.blob
end
if aside_count > 0 then
  -- Whoever has looked at the damaged entries deletes the key: then the count starts anew.
  if damaged_count == 0 then
    redis.call('HDEL', STATE, 'damagedBytes')
  end
  redis.call('HINCRBY', STATE, 'damagedBytes', aside_bytes)
end
for _, entry in ipairs(entries) do
  redis.call('XDEL', LOG, entry.id)
  redis.call('HDEL', BLOBS, entry.tag)
end
-- Not the negative of it: that of nothing is -0, which Redis does not take for an integer.
redis.call('HINCRBY', STATE, 'waitingBytes', 0 - folded_bytes)
if write_fence then
  redis.call('SET', FENCE, '1')
end
return APPLIED
