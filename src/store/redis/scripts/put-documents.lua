#!lua
--[[ put-documents.lua
  Purpose   Replaces documents, each only where the one that was read still is.
  KEYS      1 revision  2 tags  3 documents  4 fence
  ARGV      1 '1': write the fence key, else '0'   2 the next revision   3 documents there may be
            4.. four for each put, of different names: the name, tag that must be there
            now ('' for none), new tag, text ('': the document goes)
  Returns   one for each put: 1 applied, now or before by a repetition of the same put
            -1 conflict: another tag | -2 full: there is no room for one more document
  Atomic    because two processes that admit the last value must not both succeed, and a tag must
            never name other text than its own.
  Bound     the caller bounds the puts and their bytes.
]]
local REVISION, TAGS, DOCUMENTS, FENCE = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local write_fence = ARGV[1] == '1'
local next_revision = ARGV[2]
local max_documents = tonumber(ARGV[3])
local FIRST_PUT, PUT_ARGS = 4, 4
local APPLIED, CONFLICT, FULL = 1, -1, -2

-- Every key that is written below is read first: a wrong type fails here, before any write.
redis.call('GET', REVISION)
redis.call('HLEN', DOCUMENTS)
local document_count = redis.call('HLEN', TAGS)

local replies, writes = {}, {}
for i = FIRST_PUT, #ARGV, PUT_ARGS do
  local put = { name = ARGV[i], expected = ARGV[i + 1], tag = ARGV[i + 2], text = ARGV[i + 3] }
  local tag_now = redis.call('HGET', TAGS, put.name) or ''
  local tag_then = put.text == '' and '' or put.tag
  local code = APPLIED
  if tag_now ~= tag_then then
    if tag_now ~= put.expected then
      code = CONFLICT
    elseif tag_now == '' and document_count >= max_documents then
      code = FULL
    else
      writes[#writes + 1] = put
      if tag_now == '' then
        document_count = document_count + 1
      elseif put.text == '' then
        document_count = document_count - 1
      end
    end
  end
  replies[#replies + 1] = code
end

for _, put in ipairs(writes) do
  if put.text == '' then
    redis.call('HDEL', TAGS, put.name)
    redis.call('HDEL', DOCUMENTS, put.name)
  else
    redis.call('HSET', TAGS, put.name, put.tag)
    redis.call('HSET', DOCUMENTS, put.name, put.tag .. put.text)
  end
end
if #writes > 0 then
  redis.call('SET', REVISION, next_revision)
end
if write_fence then
  redis.call('SET', FENCE, next_revision)
end
return replies
