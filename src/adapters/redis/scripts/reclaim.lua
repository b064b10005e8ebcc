-- Takes over what its receivers have held for too long. An empty page is not the end: only cursor 0-0 is.
-- Keys are streams; the first is continued at the cursor.
-- ARGV: group, consumer, idle milliseconds, how many at most, the cursor, how many pages at most.
-- Answers {entries as {key number, id, fields}, how many keys are done, the cursor in the next one}.
local group, consumer, idle = ARGV[1], ARGV[2], ARGV[3]
local left, cursor, pages = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local found = {}

for number, key in ipairs(KEYS) do
  repeat
    if left <= 0 or pages <= 0 then return {found, number - 1, cursor} end
    -- JUSTID, because with entries Redis 6.2 answers a deleted one with nil and tells nobody which it was.
    local page = redis.pcall('XAUTOCLAIM', key, group, consumer, idle, cursor, 'COUNT', left, 'JUSTID')
    pages = pages - 1
    if page.err then
      if not string.find(page.err, 'NOGROUP', 1, true) then return page end
      cursor = '0-0'
    else
      cursor = page[1]
      for _, id in ipairs(page[2]) do
        local entry = redis.call('XRANGE', key, id, id)[1]
        if entry then
          found[#found + 1] = {number, id, entry[2]}
          left = left - 1
        else
          redis.call('XACK', key, group, id)
        end
      end
    end
  until cursor == '0-0'
end

return {found, #KEYS, '0-0'}
