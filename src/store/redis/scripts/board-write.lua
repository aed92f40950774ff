#!lua
--[[ board-write.lua
  Purpose   Applies score changes to one part of a board, each request whole or not at all, each id
            and each element of a batch key at most once, in all views together.
  KEYS      as in board-part.lua; the seasons are the current ones, all-time first
  ARGV      1 fence   2 JSON: epoch, ties, seasons, widths, maxIds, mode, callId, requests: lists of
            a batch key (key, fingerprint, size; or 0), atomic 0|1, entries: lists of
            member, value, id or '', index in the batch, may create 0|1
  Returns   0, an outcome for each request joined by commas (A and a letter for each entry: a
            applied, d duplicate, n not here, r out of range | F frozen | R and the entry |
            K key reused | I ids full), the all-time key of each entry (or false)
            | as in board-part.lua
  Atomic    because an increment without its id is doubled by the retry, an id without its
            increment loses it, and views must not tell different things.
  Bound     entries x seasons; the caller bounds both.
]]
local FINGERPRINT_BYTES = 22
local APPLIED, DUPLICATE, NOT_HERE, OUT_OF_RANGE = 'a', 'd', 'n', 'r'
local mode = input.mode

local members, is_known = {}, {}
for _, request in ipairs(input.requests) do
  for _, entry in ipairs(request[3]) do
    if not is_known[entry[1]] then
      is_known[entry[1]] = true
      members[#members + 1] = entry[1]
    end
  end
end

local stored, rows = {}, {}
local function read_rows()
  for i, season in ipairs(seasons) do
    stored[i] = rows_of(season, members)
    rows[i] = {}
    for member, row in pairs(stored[i]) do
      rows[i][member] = row
    end
  end
end

local function reply_with(outcomes)
  local keys = {}
  for _, request in ipairs(input.requests) do
    for _, entry in ipairs(request[3]) do
      local row = rows[1][entry[1]]
      keys[#keys + 1] = row and text_of(row.key) or false
    end
  end
  return fenced({ 0, outcomes, keys })
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

local ids, keys = id_ring(), key_ring()
local id_names, key_names = {}, {}
for _, request in ipairs(input.requests) do
  if request[1] ~= 0 then
    key_names[#key_names + 1] = request[1][1]
  end
  for _, entry in ipairs(request[3]) do
    if entry[3] ~= '' then
      id_names[#id_names + 1] = entry[3]
    end
  end
end
local known_ids = find_all(ids, id_names)
local known_keys = find_all(keys, key_names)
local id_count = ids.id_count + keys.id_count + calls.id_count
local frozen = {}
if moving > 0 then
  for i, name in ipairs(look_up('HMGET', MOVING, members)) do
    frozen[members[i]] = name
  end
end

local clock_bytes = string.sub(struct.pack('>I8', now_us), 2)
local stamp_count = 0
local function next_element(member)
  if not has_time then
    return member
  end
  local stamp = clock_bytes .. string.char(math.floor(stamp_count / 256), stamp_count % 256)
  return stamp .. member
end

local function changed_key(old, value)
  if mode == 'increment' then
    return (old or 0) + value
  end
  if mode == 'best' and old and old <= value then
    return old
  end
  return value
end

-- The letter of the entry's outcome; what it replaces goes on the list of what to undo.
local function apply(entry, undo)
  local member, value = entry[1], entry[2]
  local row = rows[1][member]
  if not row and entry[5] == 0 then
    return NOT_HERE
  end
  if mode == 'increment' and value == 0 then
    return APPLIED
  end
  local changed = {}
  for i = 1, #seasons do
    local old = rows[i][member]
    local key = changed_key(old and old.key, value)
    if key > SAFE_MAX or key < -SAFE_MAX then
      return OUT_OF_RANGE
    end
    if not old or key ~= old.key then
      changed[i] = key
    end
  end
  local element = next_element(member)
  local is_hidden = row ~= nil and row.is_hidden
  for i, key in pairs(changed) do
    undo[#undo + 1] = { season = i, member = member, row = rows[i][member] or false }
    -- A sum of nothing is 0, never -0.
    rows[i][member] = { key = key + 0, element = element, is_hidden = is_hidden }
  end
  return APPLIED
end

local new_ids, new_keys, touched = {}, {}, {}

-- What a request did: its outcome, and whether anything is to be remembered of it.
local function run(request)
  local batch, is_atomic, entries = request[1], request[2] == 1, request[3]
  local record = batch ~= 0 and known_keys[batch[1]] or nil
  if record and string.sub(record, 1, FINGERPRINT_BYTES) ~= batch[2] then
    return 'K'
  end
  local fresh_count = (batch ~= 0 and not record) and 1 or 0
  for _, entry in ipairs(entries) do
    if frozen[entry[1]] then
      return 'F'
    end
    if entry[3] ~= '' and not known_ids[entry[3]] then
      fresh_count = fresh_count + 1
    end
  end
  if fresh_count > 0 and id_count + fresh_count > input.maxIds then
    return 'I'
  end
  local bitmap = record and string.sub(record, FINGERPRINT_BYTES + 1) or ''
  local undo, letters, applied_ids, applied_bits = {}, {}, {}, {}
  local stamp_before = stamp_count
  for i, entry in ipairs(entries) do
    local id = entry[3]
    local letter
    if known_ids[id] or applied_ids[id] or (batch ~= 0 and has_bit(bitmap, entry[4])) then
      letter = DUPLICATE
    else
      letter = apply(entry, undo)
      stamp_count = stamp_count + 1
    end
    if letter == OUT_OF_RANGE and is_atomic then
      for at = #undo, 1, -1 do
        rows[undo[at].season][undo[at].member] = undo[at].row or nil
      end
      stamp_count = stamp_before
      return 'R' .. (i - 1)
    end
    if letter == APPLIED then
      if id ~= '' then
        applied_ids[id] = true
      end
      applied_bits[#applied_bits + 1] = entry[4]
    end
    letters[i] = letter
  end
  for _, change in ipairs(undo) do
    touched[#touched + 1] = change
  end
  for id in pairs(applied_ids) do
    known_ids[id] = '1'
    new_ids[#new_ids + 1] = id
    new_ids[#new_ids + 1] = '1'
    id_count = id_count + 1
  end
  if batch ~= 0 and (not record or #applied_bits > 0) then
    local bytes = {}
    for i = 1, math.ceil(batch[3] / 8) do
      bytes[i] = string.byte(bitmap, i) or 0
    end
    for _, index in ipairs(applied_bits) do
      local at = math.floor(index / 8) + 1
      bytes[at] = bit.bor(bytes[at], bit.lshift(1, index % 8))
    end
    local text = batch[2] .. string.char(unpack(bytes))
    known_keys[batch[1]] = text
    new_keys[#new_keys + 1] = batch[1]
    new_keys[#new_keys + 1] = text
    id_count = id_count + (record and 0 or 1)
  end
  return 'A' .. table.concat(letters)
end

local outcomes = {}
for i, request in ipairs(input.requests) do
  outcomes[i] = run(request)
end
local outcome_text = table.concat(outcomes, ',')

local is_written = {}
local changes = {}
for i = 1, #seasons do
  changes[i] = new_changes()
  is_written[i] = {}
end
for _, change in ipairs(touched) do
  local i, member = change.season, change.member
  if not is_written[i][member] then
    is_written[i][member] = true
    replace_row(changes[i], member, stored[i][member], rows[i][member])
  end
end
for i, season in ipairs(seasons) do
  write_changes(season, changes[i], i == 1)
end
remember(ids, new_ids)
-- A batch that comes again keeps its record where it is found first, which may be another hash.
for _, filled_key in ipairs(keys.filled) do
  for at = 1, #new_keys, 2 do
    if filled_key ~= keys.current then
      redis.call('HDEL', filled_key, new_keys[at])
    end
  end
end
remember(keys, new_keys)
if #touched > 0 or #new_ids > 0 or #new_keys > 0 then
  remember(calls, { input.callId, outcome_text })
end
return reply_with(outcome_text)
