-- Takes what others let lie, then what is new, up to a number of entries and of bytes: XREADGROUP counts only entries.
-- Key: the stream. ARGV: group, consumer, how many entries and bytes at most, the bytes of an entry beyond which it is
-- left unread, the deliveries beyond which it comes alone, idle milliseconds (or none: what others hold is left alone).
-- Answers {entries as {id, deliveries, fields, the name of the largest where too large}, whether the group is missing,
-- whether more may lie about}.
local key, group, consumer, idle = KEYS[1], ARGV[1], ARGV[2], ARGV[7]
local left, room, largest_entry, alone = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local PAGE = 4
local found = {}

local function add(entry, deliveries)
  local fields, bytes, largest, longest = entry[2], 0, '', 0
  for i = 1, #fields, 2 do
    local size = #fields[i] + #fields[i + 1]
    bytes = bytes + size
    if size > longest then largest, longest = fields[i], size end
  end
  if bytes > largest_entry then
    found[#found + 1] = {entry[1], deliveries, {}, string.sub(largest, 1, 64)}
  else
    found[#found + 1] = {entry[1], deliveries, fields, ''}
    room = room - bytes
  end
  left = left - 1
end

-- Not XAUTOCLAIM: with entries Redis 6.2 answers a deleted one with nil, without them nobody counts the delivery.
local function take_over()
  local held = redis.pcall('XPENDING', key, group, 'IDLE', idle, '-', '+', left)
  if held.err then return held end
  local are_all = #held < left
  for _, each in ipairs(held) do
    local id, deliveries = each[1], each[4] + 1
    -- It may be what its receivers died of: then the others must not die with it.
    local is_suspect = deliveries > alone
    if left <= 0 or room <= 0 or (is_suspect and #found > 0) then return 1 end
    local entry = redis.call('XRANGE', key, id, id)[1]
    if entry then
      redis.call('XCLAIM', key, group, consumer, 0, id, 'RETRYCOUNT', deliveries, 'JUSTID')
      add(entry, deliveries)
      if is_suspect then
        left = 0
        return 1
      end
    else
      redis.call('XACK', key, group, id)
    end
  end
  return are_all and 0 or 1
end

local function take()
  while left > 0 and room > 0 do
    local count = math.min(left, PAGE)
    local reply = redis.pcall('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', key, '>')
    if reply and reply.err then return reply end
    local entries = reply and reply[1][2] or {}
    for _, entry in ipairs(entries) do add(entry, 1) end
    if #entries < count then break end
  end
  return 0
end

local more = idle and take_over() or 0
local taken = type(more) == 'table' and more or take()
if type(taken) == 'table' then
  -- The error of a group that is gone comes before anything was found.
  if not string.find(taken.err, 'NOGROUP', 1, true) then return taken end
  return {found, 1, 0}
end
return {found, 0, more}
