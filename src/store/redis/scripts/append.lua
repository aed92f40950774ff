#!lua
--[[ append.lua
  Purpose   Adds batches to one partition's log, each at most once: an id that is still remembered
            adds nothing and tells what it did the first time.
  KEYS      1 log  2 blobs  3 state  4 damaged  5 fence
            6..11 ring of remembered ids of clients  12..14 ring of remembered ids of servers
  ARGV      1 '1': write the fence key, else '0'   2 tag of the new entry
            3 bytes that may wait at most          4 entries that may wait at most
            5 ids that a ring may remember at most
            6 width of a slot of the clients' ring in ms   7 the same of the servers' ring
            8.. five for each request: 'client' or 'server', id, head, answer, blob.
            A head is the attempt (8 bytes), the fingerprint's length (1 byte), the fingerprint.
  Returns   two for each request: code, answer ('' unless the code is 2)
            1 applied, now or before by the same attempt | 2 duplicate of another attempt
            -1 key reused: another fingerprint | -2 backlog full | -3 ids full
  Atomic    because an id without its batch loses events at the retry, and a batch without its id
            counts them twice.
  Bound     requests x 9 look-ups, one entry; the caller bounds the requests.
]]
local LOG, BLOBS, STATE, DAMAGED, FENCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local write_fence = ARGV[1] == '1'
local tag = ARGV[2]
local max_bytes = tonumber(ARGV[3])
local max_entries = tonumber(ARGV[4])
local max_ids = tonumber(ARGV[5])
local client_width_ms = tonumber(ARGV[6])
local server_width_ms = tonumber(ARGV[7])
local FIRST_REQUEST, REQUEST_ARGS = 8, 5
local ATTEMPT_BYTES = 8
local APPLIED, DUPLICATE, KEY_REUSED, BACKLOG_FULL, IDS_FULL = 1, 2, -1, -2, -3

local rings = {
  client = open_ring(6, 6, client_width_ms),
  server = open_ring(12, 3, server_width_ms),
}

local function find(ring, id)
  if ring.fresh[id] then
    return ring.fresh[id]
  end
  for _, key in ipairs(ring.filled) do
    local record = redis.call('HGET', key, id)
    if record then
      return record
    end
  end
  return nil
end

-- What was moved aside still counts, so that the limits bound it too. Whoever has looked at the
-- damaged entries deletes their key: then it counts no more.
local damaged_entries = redis.call('XLEN', DAMAGED)
local waiting_entries = redis.call('XLEN', LOG) + damaged_entries
local waiting_bytes = tonumber(redis.call('HGET', STATE, 'waitingBytes') or '0')
if damaged_entries > 0 then
  waiting_bytes = waiting_bytes + tonumber(redis.call('HGET', STATE, 'damagedBytes') or '0')
end
-- The keys that are only written are read too: a wrong type fails here, before any write.
redis.call('HLEN', BLOBS)

local blobs, blob_bytes = {}, 0

local function decide(ring, id, head, answer, blob)
  local record = find(ring, id)
  if record then
    if string.sub(record, 1, ATTEMPT_BYTES) == string.sub(head, 1, ATTEMPT_BYTES) then
      return APPLIED, ''
    end
    if string.sub(record, ATTEMPT_BYTES + 1, #head) == string.sub(head, ATTEMPT_BYTES + 1) then
      return DUPLICATE, string.sub(record, #head + 1)
    end
    return KEY_REUSED, ''
  end
  local is_full = waiting_entries >= max_entries or waiting_bytes + #blob > max_bytes
  if #blob > 0 and is_full then
    return BACKLOG_FULL, ''
  end
  if ring.id_count >= max_ids then
    return IDS_FULL, ''
  end
  if #blob > 0 then
    waiting_bytes = waiting_bytes + #blob
    blobs[#blobs + 1] = blob
    blob_bytes = blob_bytes + #blob
  end
  ring.fresh[id] = head .. answer
  ring.fresh_order[#ring.fresh_order + 1] = id
  ring.id_count = ring.id_count + 1
  return APPLIED, ''
end

local replies = {}
for i = FIRST_REQUEST, #ARGV, REQUEST_ARGS do
  local ring = rings[ARGV[i]]
  local code, answer = decide(ring, ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
  replies[#replies + 1] = code
  replies[#replies + 1] = answer
end

for _, ring in pairs(rings) do
  local current_key = ring.current
  for _, id in ipairs(ring.fresh_order) do
    redis.call('HSET', current_key, id, ring.fresh[id])
  end
  if #ring.fresh_order > 0 then
    redis.call('PEXPIREAT', current_key, ring.expires_at_ms, 'NX')
  end
end
if #blobs > 0 then
  redis.call('HSET', BLOBS, tag, table.concat(blobs))
  redis.call('XADD', LOG, '*', 'tag', tag, 'bytes', blob_bytes)
  redis.call('HINCRBY', STATE, 'waitingBytes', blob_bytes)
end
if write_fence then
  redis.call('SET', FENCE, tag)
end
return replies
