#!lua flags=no-writes
--[[ board-read.lua
  Purpose   Answers questions about one season of one part of a board, all of one moment.
  KEYS      as in board-part.lua; one season
  ARGV      1 fence   2 JSON: epoch, ties, seasons, admitted (-1: not the source of a move), asks
            3.. elements of positions, by the numbers that the asks give
  Returns   (keys as texts, since not every client reads large numbers right)
            0, now in ms, admitted, an answer for each ask | -4 behind | -5 unreleased, chunk
            | as in board-part.lua
  Atomic    because rows and the ranks of rows must be of one moment.
  Bound     rows asked for; a search among the ties of a position.
]]
local BEHIND, UNRELEASED = -4, -5
local season = seasons[1]
local refused = refusal(false)
if refused then
  return refused
end
if input.admitted >= 0 then
  if released > input.admitted then
    return { BEHIND }
  end
  if moving > 0 and moving <= input.admitted then
    return { UNRELEASED, moving }
  end
end

-- By bytes: Lua's own comparison follows the server's locale.
local function is_before(a, b)
  local length = math.min(#a, #b)
  for i = 1, length do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

local function count_before(key, element)
  local text = text_of(key)
  local low = redis.call('ZCOUNT', season.shown, '-inf', '(' .. text)
  if element == '' then
    return low
  end
  local high = low + redis.call('ZCOUNT', season.shown, text, text)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if is_before(redis.call('ZRANGE', season.shown, middle, middle)[1], element) then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local size = redis.call('ZCARD', season.shown)

-- The shown row of a member that is to be left out, or nil.
local function row_without(member)
  if not member then
    return nil
  end
  local row = rows_of(season, { member })[member]
  if not row or row.is_hidden then
    return nil
  end
  row.index = redis.call('ZRANK', season.shown, row.element)
  return row
end

local function count_without(left_out, key, element)
  local count = count_before(key, element)
  if not left_out then
    return count
  end
  local stands_before = left_out.key < key
    or (left_out.key == key and is_before(left_out.element, element))
  return stands_before and count - 1 or count
end

local function meta_of(elements)
  if #elements == 0 or redis.call('EXISTS', META) == 0 then
    return {}
  end
  local names = {}
  for i, element in ipairs(elements) do
    names[i] = has_time and string.sub(element, input.timeBytes + 1) or element
  end
  return look_up('HMGET', META, names)
end

local function answer_rows(ask)
  local left_out = row_without(ask.without)
  local shown_size = left_out and size - 1 or size
  local before = 0
  if ask.at then
    before = count_without(left_out, ask.key, ARGV[ask.at])
  end
  local start = math.max(0, math.min(before + ask.skip, shown_size))
  local from = start
  if left_out and left_out.index <= start then
    from = start + 1
  end
  local elements, keys = {}, {}
  if ask.limit > 0 then
    -- One more than asked for, since one of them may be the one that is left out.
    local found = redis.call('ZRANGE', season.shown, from, from + ask.limit, 'WITHSCORES')
    for i = 1, #found, 2 do
      local is_left_out = left_out and found[i] == left_out.element
      if not is_left_out and #elements < ask.limit then
        elements[#elements + 1] = found[i]
        keys[#keys + 1] = found[i + 1]
      end
    end
  end
  local meta = ask.meta and meta_of(elements) or {}
  for i = 1, #elements do
    meta[i] = meta[i] or false
  end
  return { before, start, shown_size, elements, keys, meta }
end

local function answer_count(ask)
  local left_out = row_without(ask.without)
  local counts = {}
  for i, position in ipairs(ask.before) do
    counts[i] = count_without(left_out, position[1], ARGV[position[2]])
  end
  return { left_out and size - 1 or size, counts }
end

local function answer_locate(ask)
  local rows = rows_of(season, ask.members)
  local meta = {}
  if redis.call('EXISTS', META) == 1 then
    meta = look_up('HMGET', META, ask.members)
  end
  local found = {}
  for i, member in ipairs(ask.members) do
    local row = rows[member]
    found[i] = false
    if row then
      local flag = row.is_hidden and 1 or 0
      found[i] = { text_of(row.key), row.element, flag, meta[i] or false }
    end
  end
  return found
end

local function answer_levels(ask)
  local below = '(' .. text_of(ask.below)
  local count = redis.call('ZCOUNT', season.levels, '-inf', below)
  local keys = {}
  if ask.limit > 0 then
    keys = redis.call('ZRANGEBYSCORE', season.levels, '-inf', below, 'LIMIT', 0, ask.limit)
  end
  return { count, keys }
end

local function answer_stats(ask)
  local totals = redis.call('HMGET', season.totals, 'high', 'low')
  local first = redis.call('ZRANGE', season.shown, 0, 0, 'WITHSCORES')[2]
  local last = redis.call('ZRANGE', season.shown, -1, -1, 'WITHSCORES')[2]
  local counts = {}
  for i = 1, #ask.edges - 1 do
    local from, to = text_of(ask.edges[i]), '(' .. text_of(ask.edges[i + 1])
    counts[i] = redis.call('ZCOUNT', season.shown, from, to)
  end
  return {
    size, totals[1] or '0', totals[2] or '0',
    first or false, last or false, counts,
  }
end

local ANSWERS = {
  rows = answer_rows, count = answer_count, locate = answer_locate,
  levels = answer_levels, stats = answer_stats,
}
local answers = {}
for i, ask in ipairs(input.asks) do
  answers[i] = ANSWERS[ask.kind](ask)
end
return { 0, now_ms, admitted, answers }
