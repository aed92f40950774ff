#!lua
--[[ board-part.lua
  Purpose   What every script of a part of a board begins with, behind id-ring.lua: so they agree
            on keys, checks and how a row is changed.
  KEYS      1 state  2 fence  3 members  4 meta  5 moving  6..9 ring of batch keys
            10..13 ring of ids  14..16 ring of calls
            17.. six for each season: shown, hidden, times, totals, levels, level counts
            (the times of all-time are the members)
  ARGV      1 '1': write the fence key, else '0'   2 JSON: what the script needs
  Returns   -1 gone | -2 stale, epoch | -3 other season, now in ms; as the first of a list
  Atomic    because all of a part is one moment, for every reader and writer.
  Bound     the caller bounds seasons, entries and members.
]]
local STATE, FENCE, MEMBERS, META, MOVING = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local write_fence = ARGV[1] == '1'
local input = cjson.decode(ARGV[2])
local GONE, STALE, OTHER_SEASON = -1, -2, -3
local FIRST_SEASON, SEASON_KEYS = 17, 6
local SLICE = 1000
local LIMB = 4294967296
local SAFE_MAX = 9007199254740991
local has_time = input.ties == 'earliest'
local is_dense = input.ties == 'dense'

local seasons = {}
for i, given in ipairs(input.seasons or {}) do
  local first = FIRST_SEASON + (i - 1) * SEASON_KEYS
  seasons[i] = {
    view = given[1], starts_at_ms = given[2], ends_at_ms = given[3], expires_at_ms = given[4],
    shown = KEYS[first], hidden = KEYS[first + 1], times = KEYS[first + 2],
    totals = KEYS[first + 3], levels = KEYS[first + 4], level_counts = KEYS[first + 5],
  }
end

local state = redis.call('HMGET', STATE, 'epoch', 'moving', 'released', 'admitted')
local epoch = state[1]
local moving = tonumber(state[2] or '0')
local released = tonumber(state[3] or '0')
local admitted = tonumber(state[4] or '0')

local function fenced(reply)
  if write_fence and epoch then
    redis.call('SET', FENCE, epoch)
  end
  return reply
end

-- Each view that is named must have a season that contains this moment.
local function is_other_season()
  local is_current = {}
  for _, season in ipairs(seasons) do
    local has_begun = season.starts_at_ms <= now_ms
    local has_ended = season.ends_at_ms > 0 and season.ends_at_ms <= now_ms
    is_current[season.view] = is_current[season.view] or (has_begun and not has_ended)
  end
  for _, current in pairs(is_current) do
    if not current then
      return true
    end
  end
  return false
end

-- What forbids this call, or nil.
local function refusal(checks_seasons)
  if not epoch then
    return { GONE }
  end
  if epoch ~= input.epoch then
    return { STALE, epoch }
  end
  if checks_seasons and is_other_season() then
    return { OTHER_SEASON, now_ms }
  end
  return nil
end

local function text_of(number)
  return string.format('%.0f', number)
end

local function call_in_slices(command, key, values)
  for first = 1, #values, SLICE do
    redis.call(command, key, unpack(values, first, math.min(first + SLICE - 1, #values)))
  end
end

-- One reply for each name, as from HMGET or ZMSCORE.
local function look_up(command, key, names)
  local found = {}
  for first = 1, #names, SLICE do
    local last = math.min(first + SLICE - 1, #names)
    for i, value in ipairs(redis.call(command, key, unpack(names, first, last))) do
      found[first + i - 1] = value
    end
  end
  return found
end

local function score_of(reply)
  return reply and tonumber(reply) or nil
end

-- The rows of members in a season: {key, element, is_hidden}, by member.
local function rows_of(season, members)
  local names, elements = members, members
  if has_time then
    names, elements = {}, {}
    for i, stamp in ipairs(look_up('HMGET', season.times, members)) do
      if stamp then
        names[#names + 1] = members[i]
        elements[#elements + 1] = stamp .. members[i]
      end
    end
  end
  local rows, left, left_names = {}, {}, {}
  for i, reply in ipairs(look_up('ZMSCORE', season.shown, elements)) do
    local key = score_of(reply)
    if key then
      rows[names[i]] = { key = key, element = elements[i], is_hidden = false }
    else
      left[#left + 1] = elements[i]
      left_names[#left_names + 1] = names[i]
    end
  end
  if #left > 0 and redis.call('EXISTS', season.hidden) == 1 then
    for i, reply in ipairs(look_up('ZMSCORE', season.hidden, left)) do
      local key = score_of(reply)
      if key then
        rows[left_names[i]] = { key = key, element = left[i], is_hidden = true }
      end
    end
  end
  return rows
end

-- Changes of a season are collected and then written with few commands.
local function new_changes()
  return {
    shown = { put = {}, taken = {} }, hidden = { put = {}, taken = {} },
    times = {}, forgotten = {}, high = 0, low = 0, level_changes = {},
  }
end

local function count_shown(changes, key, by)
  local low = key % LIMB
  changes.low = changes.low + by * low
  changes.high = changes.high + by * (key - low) / LIMB
  if is_dense then
    local text = text_of(key)
    changes.level_changes[text] = (changes.level_changes[text] or 0) + by
  end
end

-- From one row of a member to another; either may be nil.
local function replace_row(changes, member, before, after)
  if before then
    local set = before.is_hidden and changes.hidden or changes.shown
    local stays = after and after.element == before.element
      and after.is_hidden == before.is_hidden
    if not stays then
      set.taken[#set.taken + 1] = before.element
    end
    if not before.is_hidden then
      count_shown(changes, before.key, -1)
    end
  end
  if after then
    local set = after.is_hidden and changes.hidden or changes.shown
    set.put[#set.put + 1] = text_of(after.key)
    set.put[#set.put + 1] = after.element
    if not after.is_hidden then
      count_shown(changes, after.key, 1)
    end
    if not before or after.element ~= before.element then
      changes.times[#changes.times + 1] = member
      changes.times[#changes.times + 1] = string.sub(after.element, 1, #after.element - #member)
    end
  else
    changes.forgotten[#changes.forgotten + 1] = member
  end
end

local function expire(season, key)
  if season.expires_at_ms > 0 then
    redis.call('PEXPIREAT', key, season.expires_at_ms)
  end
end

local function write_totals(season, changes)
  if changes.low == 0 and changes.high == 0 then
    return
  end
  local low = redis.call('HINCRBY', season.totals, 'low', text_of(changes.low))
  local carry = math.floor(low / LIMB)
  if carry ~= 0 then
    redis.call('HINCRBY', season.totals, 'low', text_of(-carry * LIMB))
  end
  redis.call('HINCRBY', season.totals, 'high', text_of(changes.high + carry))
  expire(season, season.totals)
end

local function write_levels(season, changes)
  for text, by in pairs(changes.level_changes) do
    if by ~= 0 then
      local count = redis.call('HINCRBY', season.level_counts, text, text_of(by))
      if count == 0 then
        redis.call('HDEL', season.level_counts, text)
        redis.call('ZREM', season.levels, text)
      elseif count == by then
        redis.call('ZADD', season.levels, text, text)
      end
      expire(season, season.levels)
      expire(season, season.level_counts)
    end
  end
end

local function write_set(season, key, set)
  call_in_slices('ZREM', key, set.taken)
  call_in_slices('ZADD', key, set.put)
  if #set.put > 0 then
    expire(season, key)
  end
end

-- `is_all_time`: there the times are the hash of all members, kept whatever the rule for ties is.
local function write_changes(season, changes, is_all_time)
  write_set(season, season.shown, changes.shown)
  write_set(season, season.hidden, changes.hidden)
  if has_time or is_all_time then
    call_in_slices('HSET', season.times, changes.times)
    call_in_slices('HDEL', season.times, changes.forgotten)
    if #changes.times > 0 then
      expire(season, season.times)
    end
  end
  write_totals(season, changes)
  if is_dense then
    write_levels(season, changes)
  end
end

local function key_ring() return open_ring(6, 4, input.widths[1]) end
local function id_ring() return open_ring(10, 4, input.widths[2]) end
local function call_ring() return open_ring(14, 3, input.widths[3]) end

-- What a ring remembers of names, by name.
local function find_all(ring, names)
  local found = {}
  for _, filled_key in ipairs(ring.filled) do
    for i, value in ipairs(look_up('HMGET', filled_key, names)) do
      if value then
        found[names[i]] = value
      end
    end
  end
  return found
end

local function remember(ring, pairs_of_names)
  local current_key = ring.current
  call_in_slices('HSET', current_key, pairs_of_names)
  if #pairs_of_names > 0 then
    redis.call('PEXPIREAT', current_key, ring.expires_at_ms, 'NX')
  end
end

-- Whether a bit of a bitmap is set; bits count from 0.
local function has_bit(bytes, index)
  local byte = string.byte(bytes, math.floor(index / 8) + 1) or 0
  return bit.band(byte, bit.lshift(1, index % 8)) ~= 0
end
