#!lua flags=allow-oom
--[[ drop-stale-summaries.lua
  Purpose   Frees summaries that belong to an earlier generation of their share.
  KEYS      1 the share's record  2.. columns of summaries
  ARGV      none
  Returns   how many were freed
  Atomic    because a summary of the current generation may take the key at any moment.
  Bound     the columns named; 32 bytes are read of each.
]]
local RECORD = KEYS[1]
local FIRST_SUMMARY_KEY = 2
local TAG_LENGTH, HEAD_LENGTH = 16, 32

local generation = redis.call('HGET', RECORD, 'generation') or '0'
local padded_generation = string.rep('0', TAG_LENGTH - #generation) .. generation
local freed_count = 0
for i = FIRST_SUMMARY_KEY, #KEYS do
  local head = redis.pcall('GETRANGE', KEYS[i], 0, HEAD_LENGTH - 1)
  local is_whole = type(head) == 'string' and #head == HEAD_LENGTH
  if is_whole and string.sub(head, TAG_LENGTH + 1) ~= padded_generation then
    freed_count = freed_count + redis.call('UNLINK', KEYS[i])
  end
end
return freed_count
