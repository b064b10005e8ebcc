-- Tells, of one moment, how far the group of each stream has come and what it still has.
-- Keys are streams. ARGV: group, how many pending entries and how many undelivered ones are looked at, at most.
-- Answers for each {newest id ever, newest id delivered, fields of what is carried, whether that is all there is}.
-- If more is pending than is looked at, what was delivered after the last entry looked at counts as not delivered yet.
local group, most_pending, longest_tail = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function table_of(flat)
  local named = {}
  for i = 1, #flat, 2 do named[flat[i]] = flat[i + 1] end
  return named
end

local function group_of(key)
  for _, flat in ipairs(redis.call('XINFO', 'GROUPS', key)) do
    local info = table_of(flat)
    if info['name'] == group then return info end
  end
  -- It will be made at 0, so all there is will be delivered.
  return {['last-delivered-id'] = '0-0', ['pending'] = 0}
end

local function standing(key)
  if redis.call('EXISTS', key) == 0 then return {'0-0', '0-0', {}, 1} end
  local stream, readers = table_of(redis.call('XINFO', 'STREAM', key)), group_of(key)
  local delivered, carried = readers['last-delivered-id'], {}
  if readers['pending'] > 0 then
    local looked_at = redis.call('XPENDING', key, group, '-', '+', most_pending)
    for _, held in ipairs(looked_at) do
      local entry = redis.call('XRANGE', key, held[1], held[1])[1]
      if entry then carried[#carried + 1] = entry[2] end
    end
    if readers['pending'] > most_pending then
      return {stream['last-generated-id'], looked_at[#looked_at][1], carried, 0}
    end
  end
  if stream['length'] - readers['pending'] > longest_tail then
    return {stream['last-generated-id'], delivered, carried, 0}
  end
  for _, entry in ipairs(redis.call('XRANGE', key, '(' .. delivered, '+')) do
    carried[#carried + 1] = entry[2]
  end
  return {stream['last-generated-id'], delivered, carried, 1}
end

local standings = {}
for number, key in ipairs(KEYS) do
  standings[number] = standing(key)
end
return standings
