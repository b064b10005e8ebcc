-- One round trip that gives each band its turns and never takes more than asked for: XREADGROUP counts per stream.
-- Keys are streams, urgent bands first, as many for each band.
-- ARGV: group, consumer, how many at most, then how many turns each band has.
-- Answers {entries as {key number, id, fields}, whether a group is missing}.
local group, consumer, left = ARGV[1], ARGV[2], tonumber(ARGV[3])
local bands = #ARGV - 3
local in_band = #KEYS / bands
local found, dry, missing = {}, {}, 0

-- What was taken from other streams must not be lost to an error, so a missing group is only told of.
local function take(number, count)
  local reply = redis.pcall('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', KEYS[number], '>')
  if reply and reply.err then
    if not string.find(reply.err, 'NOGROUP', 1, true) then return reply end
    dry[number], missing = true, 1
    return 0
  end
  local entries = reply and reply[1][2] or {}
  for _, entry in ipairs(entries) do
    found[#found + 1] = {number, entry[1], entry[2]}
  end
  left = left - #entries
  dry[number] = #entries < count
  return #entries
end

for band = 1, bands do
  local turns = tonumber(ARGV[3 + band])
  for number = (band - 1) * in_band + 1, band * in_band do
    local count = math.min(turns, left)
    if count <= 0 then break end
    local taken = take(number, count)
    if type(taken) == 'table' then return taken end
    turns = turns - taken
  end
end

for number = 1, #KEYS do
  if left <= 0 then break end
  if not dry[number] then
    local taken = take(number, left)
    if type(taken) == 'table' then return taken end
  end
end

return {found, missing}
