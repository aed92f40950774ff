#!lua flags=allow-oom
--[[ board-edit.lua
  Purpose   Hides or shows a member of a board, sets what is known of it, or takes it out, in all
            seasons that are kept.
  KEYS      as in board-part.lua; all-time first
  ARGV      1 fence   2 JSON: epoch, ties, seasons, widths, callId, member, change: delete | change,
            hidden: 1 | 0 | -1 as it was, meta: text | '' none | false as it was
  Returns   0 | 1 no such member | 2 frozen | as in board-part.lua; as the first of a list
  Atomic    because lists, ranks and sums of all views change together.
  Bound     the seasons.
]]
local EDITED, ABSENT, FROZEN = 0, 1, 2
local member = input.member
local calls = call_ring()
if find_all(calls, { input.callId })[input.callId] then
  return fenced({ EDITED })
end
local refused = refusal(true)
if refused then
  return refused
end
if moving > 0 and redis.call('HEXISTS', MOVING, member) == 1 then
  return { FROZEN }
end
if redis.call('HEXISTS', MEMBERS, member) == 0 then
  return fenced({ ABSENT })
end

local is_deletion = input.change == 'delete'
for i, season in ipairs(seasons) do
  local row = rows_of(season, { member })[member]
  local changes = new_changes()
  if row and is_deletion then
    replace_row(changes, member, row, nil)
  elseif row and input.hidden >= 0 and row.is_hidden ~= (input.hidden == 1) then
    local after = { key = row.key, element = row.element, is_hidden = input.hidden == 1 }
    replace_row(changes, member, row, after)
  end
  write_changes(season, changes, i == 1)
end
if is_deletion or input.meta == '' then
  redis.call('HDEL', META, member)
elseif input.meta then
  redis.call('HSET', META, member, input.meta)
end
remember(calls, { input.callId, '' })
return fenced({ EDITED })
