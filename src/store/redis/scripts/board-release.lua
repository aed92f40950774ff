#!lua flags=allow-oom
--[[ board-release.lua
  Purpose   Takes an admitted chunk out of the source of a move, once.
  KEYS      as in board-part.lua; all-time first
  ARGV      1 fence   2 JSON: epoch, ties, seasons, chunk
  Returns   0 | as in board-part.lua; as the first of a list
  Atomic    because its members must count here until the moment at which it is released.
  Bound     members of the chunk x seasons.
]]
local refused = refusal(false)
if refused then
  return refused
end
if input.chunk <= released then
  return fenced({ 0 })
end
if input.chunk ~= moving then
  return redis.error_reply('another chunk is under way')
end
local names = redis.call('HKEYS', MOVING)
for i, season in ipairs(seasons) do
  local changes = new_changes()
  local rows = rows_of(season, names)
  for _, name in ipairs(names) do
    if rows[name] then
      replace_row(changes, name, rows[name], nil)
    end
  end
  write_changes(season, changes, i == 1)
end
call_in_slices('HDEL', META, names)
redis.call('DEL', MOVING)
redis.call('HDEL', STATE, 'moving')
redis.call('HSET', STATE, 'released', text_of(input.chunk))
return fenced({ 0 })
