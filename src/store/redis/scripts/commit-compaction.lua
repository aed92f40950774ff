#!lua flags=allow-oom
--[[ commit-compaction.lua
  Purpose   Puts summaries in the place of the open parts (and summaries) they were made of, or
            does nothing.
  KEYS      1 the share's record  2 its open parts  3 their blobs  4 due  5 state  6 damaged
            7 fence  8.. two for each summary to be replaced: its counts, its viewers
  ARGV      1 '1': write the fence key, else '0'   2 key of the share   3 its generation
            4 number of parts that remain if nobody adds one
            5 time of the next visit in epoch ms, '' for none
            6 number of parts to remove   7 number of lost parts among them
            8 number of parts to add   9 number of asides, then
            one for each part to remove: tag; the lost ones, whose blobs must be missing, come last
            three for each part to add: tag, index line, blob
            two for each aside: reason, blob
            four for each summary, in the order of KEYS: the tag it must have now ('' if there
            must be none, 'broken' if it must be unreadable), its new counts, its new viewers (''
            for none), time of its expiry in epoch ms
  Returns   0 applied | -1 conflict: a part has gone or is not lost, a summary was replaced, or
            the share has another generation or keys that hold no hashes
  Atomic    because every part enters every level exactly once.
  Bound     the caller bounds parts and summaries. It frees more than it takes, so it may run when
            the memory is full.
]]
local RECORD, OPEN, PARTS, DUE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local STATE, DAMAGED, FENCE = KEYS[5], KEYS[6], KEYS[7]
local write_fence = ARGV[1] == '1'
local name = ARGV[2]
local generation = ARGV[3]
local remaining_count = tonumber(ARGV[4])
local compact_at_ms = ARGV[5]
local remove_count = tonumber(ARGV[6])
local lost_count = tonumber(ARGV[7])
local add_count = tonumber(ARGV[8])
local aside_count = tonumber(ARGV[9])
local FIRST_SUMMARY_KEY, FIRST_LIST = 8, 10
local SUMMARY_KEYS, SUMMARY_ARGS = 2, 4
local TAG_LENGTH, HEAD_LENGTH = 16, 32
local APPLIED, CONFLICT = 0, -1
local first_add = FIRST_LIST + remove_count
local first_lost = first_add - lost_count
local first_aside = first_add + add_count * 3
local first_summary = first_aside + aside_count * 2

-- A head is the tag and the generation, 16 characters each; of another generation means absent.
local padded_generation = string.rep('0', TAG_LENGTH - #generation) .. generation
local function tag_of_summary(key)
  local head = redis.pcall('GETRANGE', key, 0, HEAD_LENGTH - 1)
  if type(head) ~= 'string' or (#head > 0 and #head < HEAD_LENGTH) then
    return 'broken'
  end
  if string.sub(head, TAG_LENGTH + 1) ~= padded_generation then
    return ''
  end
  return string.sub(head, 1, TAG_LENGTH)
end

local function holds_hash(key)
  local kind = redis.call('TYPE', key).ok
  return kind == 'hash' or kind == 'none'
end

-- Every key that is written below is read first: a wrong type fails here, before any write.
redis.call('ZCARD', DUE)
redis.call('HLEN', STATE)
local damaged_count = redis.call('XLEN', DAMAGED)

if not (holds_hash(RECORD) and holds_hash(OPEN) and holds_hash(PARTS)) then
  return CONFLICT
end
if (redis.call('HGET', RECORD, 'generation') or '0') ~= generation then
  return CONFLICT
end
for i = FIRST_LIST, first_add - 1 do
  if redis.call('HEXISTS', OPEN, ARGV[i]) == 0 then
    return CONFLICT
  end
end
for i = first_lost, first_add - 1 do
  if redis.call('HEXISTS', PARTS, ARGV[i]) == 1 then
    return CONFLICT
  end
end
local arg = first_summary
for i = FIRST_SUMMARY_KEY, #KEYS, SUMMARY_KEYS do
  if tag_of_summary(KEYS[i]) ~= ARGV[arg] then
    return CONFLICT
  end
  arg = arg + SUMMARY_ARGS
end

arg = first_summary
for i = FIRST_SUMMARY_KEY, #KEYS, SUMMARY_KEYS do
  redis.call('SET', KEYS[i], ARGV[arg + 1], 'PXAT', ARGV[arg + 3])
  if ARGV[arg + 2] == '' then
    redis.call('UNLINK', KEYS[i + 1])
  else
    redis.call('SET', KEYS[i + 1], ARGV[arg + 2], 'PXAT', ARGV[arg + 3])
  end
  arg = arg + SUMMARY_ARGS
end
for i = first_add, first_aside - 1, 3 do
  redis.call('HSET', PARTS, ARGV[i], ARGV[i + 2])
  redis.call('HSET', OPEN, ARGV[i], ARGV[i + 1])
end
local aside_bytes = 0
for i = first_aside, first_summary - 1, 2 do
  redis.call('XADD', DAMAGED, '*', 'reason', ARGV[i], 'blob', ARGV[i + 1])
  aside_bytes = aside_bytes + #ARGV[i + 1]
end
if aside_count > 0 then
  -- Whoever has looked at the damaged entries deletes the key: then the count starts anew.
  if damaged_count == 0 then
    redis.call('HDEL', STATE, 'damagedBytes')
  end
  redis.call('HINCRBY', STATE, 'damagedBytes', aside_bytes)
end
for i = FIRST_LIST, first_add - 1 do
  redis.call('HDEL', OPEN, ARGV[i])
  redis.call('HDEL', PARTS, ARGV[i])
end
-- Parts that were added meanwhile have set the visit they want themselves.
if redis.call('HLEN', OPEN) == remaining_count then
  if compact_at_ms == '' then
    redis.call('ZREM', DUE, name)
  else
    redis.call('ZADD', DUE, compact_at_ms, name)
  end
end
if write_fence then
  redis.call('SET', FENCE, '1')
end
return APPLIED
