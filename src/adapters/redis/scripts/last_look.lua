-- Reads entries for the last time; of one that is too large, what comes first.
-- Key: the stream. ARGV: bytes beyond which an entry is too large, bytes that are kept of it, then ids.
-- Answers the names and values of each, none where it is gone.
local largest_entry, kept = tonumber(ARGV[1]), tonumber(ARGV[2])

local function cut(fields)
  local beginning, room = {}, kept
  for i = 1, #fields do
    local is_name = i % 2 == 1
    if is_name and room <= 0 then break end
    beginning[i] = string.sub(fields[i], 1, room)
    room = math.max(0, room - #beginning[i])
  end
  return beginning
end

local function fields_of(id)
  local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
  if not entry then return {} end
  local bytes = 0
  for _, text in ipairs(entry[2]) do bytes = bytes + #text end
  return bytes > largest_entry and cut(entry[2]) or entry[2]
end

local looked_at = {}
for i = 3, #ARGV do looked_at[i - 2] = fields_of(ARGV[i]) end
return looked_at
