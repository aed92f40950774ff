#!lua
--[[ board-admit.lua
  Purpose   Puts a chunk into the target of a move, once.
  KEYS      as in board-part.lua; the seasons that the chunk was packed with
  ARGV      1 fence   2 JSON: epoch, ties, seasons, chunk   3 what it holds
  Returns   0 | as in board-part.lua; as the first of a list
  Atomic    because its members must count here exactly from the moment on at which it is admitted.
  Bound     members of the chunk x seasons.
]]
local refused = refusal(false)
if refused then
  return refused
end
if input.chunk <= admitted then
  return fenced({ 0 })
end
if input.chunk ~= admitted + 1 then
  return redis.error_reply('a chunk is left out')
end
local changes = {}
for i = 1, #seasons do
  changes[i] = new_changes()
end
local meta = {}
for _, packed in ipairs(cmsgpack.unpack(ARGV[3])) do
  local name = packed[1]
  if packed[2] then
    meta[#meta + 1] = name
    meta[#meta + 1] = packed[2]
  end
  for _, row in ipairs(packed[3]) do
    local after = { key = tonumber(row[2]), element = row[3], is_hidden = row[4] }
    replace_row(changes[row[1]], name, nil, after)
  end
end
for i, season in ipairs(seasons) do
  write_changes(season, changes[i], i == 1)
end
call_in_slices('HSET', META, meta)
redis.call('HSET', STATE, 'admitted', text_of(input.chunk))
return fenced({ 0 })
