#!lua
--[[ id-ring.lua
  Purpose   What scripts that remember ids begin with: the time, and rings of hashes in time.
  KEYS      those that the script hands to open_ring
  ARGV      none
  Returns   nothing: the script behind it does
  Atomic    because an id is remembered together with what it did.
  Bound     the hashes of a ring.
]]
-- The server's clock decides how long ids live, never a caller's.
local time = redis.call('TIME')
local now_us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now_ms = math.floor(now_us / 1000)

-- A ring of hashes in time. All of them are searched, so that an id is found also when the clock
-- was set back. A hash expires one slot before its place in the ring comes round again.
local function open_ring(first_key, size, width_ms)
  local ring = { filled = {}, fresh = {}, fresh_order = {}, id_count = 0 }
  for i = first_key, first_key + size - 1 do
    local count = redis.call('HLEN', KEYS[i])
    ring.id_count = ring.id_count + count
    if count > 0 then
      ring.filled[#ring.filled + 1] = KEYS[i]
    end
  end
  local slot = math.floor(now_ms / width_ms)
  ring.current = KEYS[first_key + slot % size]
  ring.expires_at_ms = (slot + size - 1) * width_ms
  return ring
end
