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
local FIRST_SHARE_KEY, OWN_KEYS = 2, 3

local function holds_hash(key)
  local kind = redis.call('TYPE', key).ok
  return kind == 'hash' or kind == 'none'
end

-- The share whose keys begin at this one.
local function read_share(first, summary_count)
  local heads = {}
  for i = 1, summary_count do
    local head = redis.pcall('GETRANGE', KEYS[first + OWN_KEYS - 1 + i], 0, HEAD_LENGTH - 1)
    -- One key that holds something else must not make the others unreadable.
    heads[i] = type(head) == 'string' and head or 'broken'
  end
  for i = first, first + OWN_KEYS - 1 do
    if not holds_hash(KEYS[i]) then
      return false
    end
  end
  local record = redis.call('HMGET', KEYS[first], 'generation', 'deletedThrough')
  return { record[1] or '0', record[2] or '', redis.call('HGETALL', KEYS[first + 1]), heads }
end

local oldest = redis.call('XRANGE', LOG, '-', '+', 'COUNT', 1)[1]
local reply = { oldest and oldest[1] or '' }
local first = FIRST_SHARE_KEY
for i, summary_count in ipairs(ARGV) do
  reply[i + 1] = read_share(first, tonumber(summary_count))
  first = first + OWN_KEYS + tonumber(summary_count)
end
return reply
