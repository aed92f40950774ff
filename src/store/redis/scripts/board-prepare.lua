#!lua
--[[ board-prepare.lua
  Purpose   Freezes members in the source of a move and packs them; they stay where they are, and
            count there, until they are released.
  KEYS      as in board-part.lua; all-time first
  ARGV      1 fence   2 JSON: epoch, ties, seasons, members
  Returns   0, number of the chunk (0: there is none), its members, what it holds
            | as in board-part.lua
  Atomic    because nothing of a member may change once it is packed.
  Bound     members x seasons; the caller bounds both.
]]
local refused = refusal(true)
if refused then
  return refused
end
local names = {}
if moving > 0 then
  names = redis.call('HKEYS', MOVING)
else
  local frozen = {}
  local is_named = {}
  for i, found in ipairs(look_up('HMGET', MEMBERS, input.members)) do
    if found and not is_named[input.members[i]] then
      is_named[input.members[i]] = true
      names[#names + 1] = input.members[i]
      frozen[#frozen + 1] = input.members[i]
      frozen[#frozen + 1] = '1'
    end
  end
  if #names == 0 then
    return fenced({ 0, 0, {}, '' })
  end
  moving = released + 1
  call_in_slices('HSET', MOVING, frozen)
  redis.call('HSET', STATE, 'moving', text_of(moving))
end

local meta = look_up('HMGET', META, names)
local packed = {}
for i, name in ipairs(names) do
  packed[i] = { name, meta[i], {} }
end
for at, season in ipairs(seasons) do
  local rows = rows_of(season, names)
  for i, name in ipairs(names) do
    local row = rows[name]
    if row then
      local all = packed[i][3]
      -- The key as a text: packed as a number it would be cut where it is large.
      all[#all + 1] = { at, text_of(row.key), row.element, row.is_hidden }
    end
  end
end
return fenced({ 0, moving, names, cmsgpack.pack(packed) })
