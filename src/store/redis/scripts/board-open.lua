#!lua
--[[ board-open.lua
  Purpose   Makes a part of a board, of no members, or raises the epoch of one.
  KEYS      as in board-part.lua, without seasons
  ARGV      1 fence   2 JSON: epoch: the one that it has now ('': it is to be made), to: the next
  Returns   0 | as in board-part.lua; as the first of a list
  Atomic    because whoever still has the old epoch must be refused from this moment on.
  Bound     constant.
]]
if input.epoch == '' then
  if not epoch then
    epoch = input.to
    redis.call('HSET', STATE, 'epoch', epoch)
  end
  return fenced({ 0 })
end
if epoch == input.to then
  return fenced({ 0 })
end
local refused = refusal(false)
if refused then
  return refused
end
if moving > 0 then
  return redis.error_reply('a chunk is under way')
end
epoch = input.to
redis.call('HSET', STATE, 'epoch', epoch, 'released', '0', 'admitted', '0')
return fenced({ 0 })
