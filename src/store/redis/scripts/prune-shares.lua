#!lua flags=allow-oom
--[[ prune-shares.lua
  Purpose   Takes shares off the list whose record has expired.
  KEYS      1 listed  2.. one record for each share
  ARGV      the keys of the shares, in the order of the records
  Returns   how many were taken off
  Atomic    because a fold may bring the record back at any moment.
  Bound     the shares given.
]]
local LISTED = KEYS[1]
local FIRST_RECORD_KEY = 2

local pruned_count = 0
for i, name in ipairs(ARGV) do
  if redis.call('EXISTS', KEYS[FIRST_RECORD_KEY + i - 1]) == 0 then
    pruned_count = pruned_count + redis.call('ZREM', LISTED, name)
  end
end
return pruned_count
