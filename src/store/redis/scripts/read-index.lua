#!lua flags=no-writes
--[[ read-index.lua
  Purpose   What one partition holds of some shares, at one moment, without the blobs.
  KEYS      1 log, then for each share: its record, its open parts, their blobs, and the counts of
            the summaries asked for
  ARGV      one for each share: number of its summaries
  Returns   {id of the oldest log entry ('' if none waits), one for each share}: nil where the keys
            of the share hold no hashes, else {generation, id through which it was deleted ('' if
            never), open parts as tag and index line in turn, head of each summary ('' if there is
            none, 'broken' if it is no string)}
  Atomic    because a part that is compacted between two looks would be counted twice or not, and
            shares of one stream are to agree.
  Bound     the open parts and the summaries asked for; 32 bytes are read of each summary.
]]
local LOG = KEYS[1]
local HEAD_LENGTH = 32

local function holds_hash(key)
  local kind = redis.call('TYPE', key).ok
  return kind == 'hash' or kind == 'none'
end

local next_key = 2
local function take()
  next_key = next_key + 1
  return KEYS[next_key - 1]
end

local function read_share(summary_count)
  local record_key, open_key, parts_key = take(), take(), take()
  local heads = {}
  for i = 1, summary_count do
    local head = redis.pcall('GETRANGE', take(), 0, HEAD_LENGTH - 1)
    -- One key that holds something else must not make the others unreadable.
    heads[i] = type(head) == 'string' and head or 'broken'
  end
  if not (holds_hash(record_key) and holds_hash(open_key) and holds_hash(parts_key)) then
    return false
  end
  local record = redis.call('HMGET', record_key, 'generation', 'deletedThrough')
  return { record[1] or '0', record[2] or '', redis.call('HGETALL', open_key), heads }
end

local oldest = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
local reply = { oldest and oldest[1] or '' }
for i, summary_count in ipairs(ARGV) do
  reply[i + 1] = read_share(tonumber(summary_count))
end
return reply
