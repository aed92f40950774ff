#!lua flags=allow-oom
--[[ board-drop.lua
  Purpose   Forgets a part of a board with all it holds: from then on it is not there.
  KEYS      as in board-part.lua; all seasons that are kept
  ARGV      1 fence   2 JSON: nothing that it needs
  Returns   0 as the first of a list
  Atomic    because whatever is left of a part must not look like one.
  Bound     its keys; what they hold is freed in the background.
]]
for i = 1, #KEYS do
  local part_key = KEYS[i]
  if part_key ~= FENCE then
    redis.call('UNLINK', part_key)
  end
end
if write_fence then
  redis.call('SET', FENCE, '1')
end
return { 0 }
