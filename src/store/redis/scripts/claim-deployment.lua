#!lua
--[[ claim-deployment.lua
  Purpose   Settles once, for every process of a deployment, what must never change: whoever comes
            first writes it, everybody else reads it.
  KEYS      1 deployment  2 fence
  ARGV      1 '1': write the fence key, else '0'   2 hash secret (hex)   3 partition tags (JSON)
            4 number of the layout of what is stored
  Returns   {hash secret, partition tags, layout} as settled; a layout of false is older than the
            numbers
  Atomic    because two processes that start together must not settle two things.
  Bound     constant.
]]
local DEPLOYMENT, FENCE = KEYS[1], KEYS[2]
local write_fence = ARGV[1] == '1'
local hash_secret = ARGV[2]
local partition_tags = ARGV[3]
local layout = ARGV[4]

if redis.call('EXISTS', DEPLOYMENT) == 0 then
  local created_at_seconds = redis.call('TIME')[1]
  redis.call('HSET', DEPLOYMENT, 'hashSecret', hash_secret, 'partitionTags', partition_tags)
  redis.call('HSET', DEPLOYMENT, 'createdAtSeconds', created_at_seconds, 'layout', layout)
end
if write_fence then
  redis.call('SET', FENCE, '1')
end
return redis.call('HMGET', DEPLOYMENT, 'hashSecret', 'partitionTags', 'layout')
