#!lua
--[[ board-write.lua
  Purpose   Applies score changes to one part of a board, each request whole or not at all, each id
            and each element of a batch key at most once, in all views together.
  KEYS      as in board-part.lua; the seasons are the current ones, all-time first
  ARGV      1 fence   2 JSON: epoch, ties, seasons, widths, maxIds, mode, callId, and flat lists of
            all entries: members, values, ids ('' for none; left out if there is not one), places
            in the batch (left out without a key), fixed (true where nobody may be made; left out
            if there is no such place); requests: lists of: entries, atomic 0|1, and of a batch key
            the key, the fingerprint, the size (or nothing)
  Returns   0, an outcome for each request joined by commas (A and a letter for each entry: a
            applied, d duplicate, n not here, r out of range | F frozen | R and the entry |
            K key reused | I ids full), the all-time key of each entry (or false; as a text where
            it is large, since not every client reads large numbers right) | as in board-part.lua
  Atomic    because an increment without its id is doubled by the retry, an id without its
            increment loses it, and views must not tell different things.
  Bound     entries x seasons; the caller bounds both. Tables are few and flat: making them takes
            longer than what Redis itself does.
]]
local FINGERPRINT_BYTES = 22
local NUMBER_MAX = 1e15
local APPLIED, DUPLICATE, NOT_HERE, OUT_OF_RANGE = 'a', 'd', 'n', 'r'
local mode = input.mode
local members, values, ids, places = input.members, input.values, input.ids, input.places
local fixed = input.fixed
local entry_count = #members
local season_count = #seasons

-- What is stored: by member the key, the stamp where there are times; and who is hidden.
local stored_keys, stored_stamps, hidden_members = {}, {}, {}
-- Keys that were changed, as they are now.
local changed_keys = {}
-- Sum of all magnitudes: below the safe maximum no result can leave the range.
local magnitude = 0

local function read_hidden(season, found_keys, stamps)
  if redis.call('EXISTS', season.hidden) == 0 then
    return
  end
  local names, elements = {}, {}
  for at = 1, entry_count do
    local member = members[at]
    if not found_keys[member] and (not has_time or stamps[member]) then
      names[#names + 1] = member
      elements[#elements + 1] = has_time and stamps[member] .. member or member
    end
  end
  for i, reply in ipairs(look_up('ZMSCORE', season.hidden, elements)) do
    if reply then
      local key = tonumber(reply)
      found_keys[names[i]] = key
      hidden_members[names[i]] = true
      magnitude = magnitude + math.abs(key)
    end
  end
end

local function read_season(season)
  local found_keys, stamps = {}, {}
  local names, elements = members, members
  if has_time then
    names, elements = {}, {}
    local found = look_up('HMGET', season.times, members)
    for at = 1, entry_count do
      local stamp = found[at]
      if stamp then
        local member = members[at]
        stamps[member] = stamp
        names[#names + 1] = member
        elements[#elements + 1] = stamp .. member
      end
    end
  end
  local replies = look_up('ZMSCORE', season.shown, elements)
  for at = 1, #elements do
    local reply = replies[at]
    if reply then
      local key = tonumber(reply)
      found_keys[names[at]] = key
      magnitude = magnitude + math.abs(key)
    end
  end
  read_hidden(season, found_keys, stamps)
  return found_keys, stamps
end

local function read_rows()
  for i = 1, season_count do
    stored_keys[i], stored_stamps[i] = read_season(seasons[i])
    changed_keys[i] = {}
  end
end

local function key_of(i, member)
  return changed_keys[i][member] or stored_keys[i][member]
end

local function reply_with(outcomes)
  local replies, changed, stored = {}, changed_keys[1], stored_keys[1]
  for at = 1, entry_count do
    local key = changed[members[at]] or stored[members[at]]
    if key and (key > NUMBER_MAX or key < -NUMBER_MAX) then
      key = text_of(key)
    end
    replies[at] = key or false
  end
  return fenced({ 0, outcomes, replies })
end

local calls = call_ring()
local recorded = find_all(calls, { input.callId })[input.callId]
if recorded then
  read_rows()
  return reply_with(recorded)
end
local refused = refusal(true)
if refused then
  return refused
end
read_rows()
for at = 1, entry_count do
  magnitude = magnitude + math.abs(values[at])
end
local may_leave_range = magnitude > SAFE_MAX

local batch_keys = {}
for _, request in ipairs(input.requests) do
  if request[3] then
    batch_keys[#batch_keys + 1] = request[3]
  end
end
local id_ring_now, key_ring_now = id_ring(), key_ring()
local known_ids = ids and find_all(id_ring_now, ids) or {}
local known_keys = find_all(key_ring_now, batch_keys)
local id_count = id_ring_now.id_count + key_ring_now.id_count + calls.id_count
local may_be_full = id_count + entry_count + #batch_keys > input.maxIds
local frozen = {}
if moving > 0 then
  for at, found in ipairs(look_up('HMGET', MOVING, members)) do
    frozen[members[at]] = found
  end
end

-- The order in which members were changed: it breaks ties of the same moment.
local touched, touched_at = {}, {}
local new_ids, new_keys = {}, {}
local undo

local function key_after(old, value)
  if mode == 'increment' then
    return (old or 0) + value
  end
  if mode == 'best' and old and old <= value then
    return old
  end
  return value
end

-- Applies an entry in all views, and says what became of it.
local function apply(at)
  local member, value = members[at], values[at]
  if fixed and fixed[at] and not key_of(1, member) then
    return NOT_HERE
  end
  if value == 0 and mode == 'increment' then
    return APPLIED
  end
  if may_leave_range then
    for i = 1, season_count do
      local key = key_after(key_of(i, member), value)
      if key > SAFE_MAX or key < -SAFE_MAX then
        return OUT_OF_RANGE
      end
    end
  end
  for i = 1, season_count do
    local changed = changed_keys[i]
    local old = changed[member] or stored_keys[i][member]
    local key = key_after(old, value)
    if key ~= old then
      if undo then
        undo[#undo + 1] = { i, member, changed[member], touched_at[member] }
      end
      -- A sum of nothing is 0, never -0.
      changed[member] = key + 0
      if not touched_at[member] then
        touched[#touched + 1] = member
      end
      touched_at[member] = at
    end
  end
  return APPLIED
end

local function count_fresh(request, first, last)
  local fresh = (request[3] and not known_keys[request[3]]) and 1 or 0
  for at = first, last do
    if ids and ids[at] ~= '' and not known_ids[ids[at]] then
      fresh = fresh + 1
    end
  end
  return fresh
end

local function record_batch(request, bitmap, applied_places, is_new)
  local bytes = {}
  for i = 1, math.ceil(request[5] / 8) do
    bytes[i] = string.byte(bitmap, i) or 0
  end
  for _, place in ipairs(applied_places) do
    local i = math.floor(place / 8) + 1
    bytes[i] = bit.bor(bytes[i], bit.lshift(1, place % 8))
  end
  local text = request[4] .. string.char(unpack(bytes))
  known_keys[request[3]] = text
  new_keys[#new_keys + 1] = request[3]
  new_keys[#new_keys + 1] = text
  id_count = id_count + (is_new and 1 or 0)
end

-- Takes back what a refused request has done.
local function take_back(id_count_before)
  for i = #undo, 1, -1 do
    local member = undo[i][2]
    changed_keys[undo[i][1]][member] = undo[i][3]
    touched_at[member] = undo[i][4]
    if not undo[i][4] then
      touched[#touched] = nil
    end
  end
  for i = #new_ids - 1, id_count_before + 1, -2 do
    known_ids[new_ids[i]] = nil
    new_ids[i + 1] = nil
    new_ids[i] = nil
  end
end

local function run(request, first, last)
  local batch = request[3]
  local record = batch and known_keys[batch]
  if record and string.sub(record, 1, FINGERPRINT_BYTES) ~= request[4] then
    return 'K'
  end
  if moving > 0 then
    for at = first, last do
      if frozen[members[at]] then
        return 'F'
      end
    end
  end
  if may_be_full then
    local fresh = count_fresh(request, first, last)
    if fresh > 0 and id_count + fresh > input.maxIds then
      return 'I'
    end
  end
  local bitmap = record and string.sub(record, FINGERPRINT_BYTES + 1) or ''
  local ids_before = #new_ids
  undo = may_leave_range and request[2] == 1 and {} or nil
  local letters, applied_places = {}, {}
  for at = first, last do
    local id = ids and ids[at] or ''
    local letter
    if (id ~= '' and known_ids[id]) or (record and has_bit(bitmap, places[at])) then
      letter = DUPLICATE
    else
      letter = apply(at)
    end
    if letter == OUT_OF_RANGE and undo then
      take_back(ids_before)
      return 'R' .. (at - first)
    end
    if letter == APPLIED then
      if id ~= '' then
        known_ids[id] = true
        new_ids[#new_ids + 1] = id
        new_ids[#new_ids + 1] = '1'
      end
      if batch then
        applied_places[#applied_places + 1] = places[at]
      end
    end
    letters[at - first + 1] = letter
  end
  id_count = id_count + (#new_ids - ids_before) / 2
  if batch and (not record or #applied_places > 0) then
    record_batch(request, bitmap, applied_places, not record)
  end
  return 'A' .. table.concat(letters)
end

local outcomes = {}
local next_entry = 1
for i, request in ipairs(input.requests) do
  outcomes[i] = run(request, next_entry, next_entry + request[1] - 1)
  next_entry = next_entry + request[1]
end
local outcome_text = table.concat(outcomes, ',')

local clock_bytes = string.sub(struct.pack('>I8', now_us), 2)
local new_stamps = {}
if has_time then
  for _, member in ipairs(touched) do
    local at = touched_at[member] - 1
    new_stamps[member] = clock_bytes .. string.char(math.floor(at / 256), at % 256)
  end
end

local function change_season(i, season)
  local changes = new_changes()
  local shown_put, shown_taken = changes.shown.put, changes.shown.taken
  local times = changes.times
  local before, after, stamps = stored_keys[i], changed_keys[i], stored_stamps[i]
  local counts_apart = is_dense or may_leave_range
  local shown_sum = 0
  for at = 1, #touched do
    local member = touched[at]
    local old, key = before[member], after[member]
    if key and key ~= old then
      local is_hidden = hidden_members[member]
      local put = is_hidden and changes.hidden.put or shown_put
      local element = member
      if has_time then
        local stamp = new_stamps[member]
        element = stamp .. member
        if old then
          local taken = is_hidden and changes.hidden.taken or shown_taken
          taken[#taken + 1] = stamps[member] .. member
        end
        times[#times + 1] = member
        times[#times + 1] = stamp
      elseif not old and i == 1 then
        times[#times + 1] = member
        times[#times + 1] = ''
      end
      put[#put + 1] = key
      put[#put + 1] = element
      if is_hidden then
        -- What is hidden is in no sum.
      elseif counts_apart then
        if old then
          count_shown(changes, old, -1)
        end
        count_shown(changes, key, 1)
      else
        shown_sum = shown_sum + key - (old or 0)
      end
    end
  end
  if shown_sum ~= 0 then
    count_shown(changes, shown_sum, 1)
  end
  write_changes(season, changes, i == 1)
end

if #touched > 0 then
  for i, season in ipairs(seasons) do
    change_season(i, season)
  end
end
remember(id_ring_now, new_ids)
-- A record that grows moves to the hash of now: nobody must find the older one.
for _, filled_key in ipairs(key_ring_now.filled) do
  for at = 1, #new_keys, 2 do
    if filled_key ~= key_ring_now.current then
      redis.call('HDEL', filled_key, new_keys[at])
    end
  end
end
remember(key_ring_now, new_keys)
if #touched > 0 or #new_ids > 0 or #new_keys > 0 then
  remember(calls, { input.callId, outcome_text })
end
return reply_with(outcome_text)
