#!lua flags=allow-oom
--[[ prune-streams.lua
  Purpose   Takes names off the list of streams whose record has expired.
  KEYS      1 streams  2.. one record for each name
  ARGV      the names, in the order of the records
  Returns   how many were taken off
  Atomic    because a fold may bring the record back at any moment.
  Bound     the names given.
]]
local STREAMS = KEYS[1]
local FIRST_RECORD_KEY = 2

local pruned_count = 0
for i, name in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[FIRST_RECORD_KEY + i - 1]) == 0 then
    pruned_count = pruned_count + redis.call('ZREM', STREAMS, name)
  end
end
return pruned_count
