#!lua flags=no-writes
--[[ read-index.lua
  Purpose   What one partition holds of a stream, at one moment, without the blobs.
  KEYS      1 the stream's record  2 its open parts  3 their blobs  4 log
            5.. the summaries asked for
  ARGV      none
  Returns   {generation, id through which it was deleted ('' if never), open parts as tag and
            index line in turn, head of each summary ('' if there is none, 'broken' if it is no
            string), id of the oldest log entry ('' if none waits)}
            or -1 broken: keys of the stream hold no hashes
  Atomic    because a part that is compacted between two looks would be counted twice or not.
  Bound     the open parts and the summaries asked for; 32 bytes are read of each summary.
]]
local RECORD, OPEN, PARTS, LOG = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local FIRST_SUMMARY_KEY = 5
local HEAD_LENGTH = 32
local BROKEN = -1

local function holds_hash(key)
  local kind = redis.call('TYPE', key).ok
  return kind == 'hash' or kind == 'none'
end
if not (holds_hash(RECORD) and holds_hash(OPEN) and holds_hash(PARTS)) then
  return BROKEN
end

local record = redis.call('HMGET', RECORD, 'generation', 'deletedThrough')
local heads = {}
for i = FIRST_SUMMARY_KEY, #KEYS do
  local head = redis.pcall('GETRANGE', KEYS[i], 0, HEAD_LENGTH - 1)
  -- One key that holds something else must not make the others unreadable.
  heads[#heads + 1] = type(head) == 'string' and head or 'broken'
end
local oldest = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
return {
  record[1] or '0',
  record[2] or '',
  redis.call('HGETALL', OPEN),
  heads,
  oldest and oldest[1] or '',
}
