#!lua
--[[ board-remembered.lua
  Purpose   Says which ids and batch keys one part of a board has applied.
  KEYS      as in board-part.lua, without seasons
  ARGV      1 fence   2 JSON: epoch ('': any, and a part that is gone remembers nothing), ids, keys,
            widths
  Returns   0, one of 1 | 0 for each id, the record of each key (or false) | as in board-part.lua
  Atomic    because an answer counts for one epoch: after it, nothing of an older one is applied.
  Bound     ids x 4 hashes; the caller bounds the ids.
]]
if input.epoch ~= '' then
  local refused = refusal(false)
  if refused then
    return refused
  end
end
local known_ids = find_all(id_ring(), input.ids)
local known_keys = find_all(key_ring(), input.keys)
local id_flags, records = {}, {}
for i, id in ipairs(input.ids) do
  id_flags[i] = known_ids[id] and 1 or 0
end
for i, key in ipairs(input.keys) do
  records[i] = known_keys[key] or false
end
-- That something was applied is an acknowledgement: it waits for the replicas like any other.
return fenced({ 0, id_flags, records })
