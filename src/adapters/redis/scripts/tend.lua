-- Keeps streams small, in one step each: between two commands somebody could be handed what the second removes.
-- Keys are streams. ARGV: group, idle milliseconds after which a consumer is gone, seconds that a stream may live on,
-- without which it lives for ever.
local group, gone, life = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local function table_of(flat)
  local named = {}
  for i = 1, #flat, 2 do named[flat[i]] = flat[i + 1] end
  return named
end

for _, key in ipairs(KEYS) do
  local groups = redis.pcall('XINFO', 'GROUPS', key)
  for _, flat in ipairs(groups.err and {} or groups) do
    local info = table_of(flat)
    if info['name'] == group then
      -- What is pending may come again, and what lies behind the last delivered one was never delivered.
      local pending = redis.call('XPENDING', key, group)
      redis.call('XTRIM', key, 'MINID', '=', pending[1] > 0 and pending[2] or info['last-delivered-id'])
      for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
        local consumer = table_of(each)
        if consumer['pending'] == 0 and consumer['idle'] >= gone then
          redis.call('XGROUP', 'DELCONSUMER', key, group, consumer['name'])
        end
      end
      if life then redis.call('EXPIRE', key, life) end
    end
  end
end

return #KEYS
