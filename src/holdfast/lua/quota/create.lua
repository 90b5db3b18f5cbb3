--- Create a quota. A repeated call gets the same answer; different content is refused.
--- @key tag the partition of quotas
--- @arg id @arg tenant @arg window ms or empty @arg most or empty @arg slots or empty
--- @ok created | exists
--- @no quota_conflict
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply

local FIELDS = { 'tenant', 'window', 'most', 'slots' }

local function run(tag, args)
  local id = args[1]
  local key = keys.quota(tag, id)
  if server.call('EXISTS', key) == 1 then
    local found = server.call('HMGET', key, unpack(FIELDS))
    for i = 1, #FIELDS do
      if (found[i] or '') ~= args[i + 1] then return reply.no('quota_conflict', 'id', id) end
    end
    return { 'ok', 'exists' }
  end

  local fields = { 'born', clock.now(tag) }
  for i, name in ipairs(FIELDS) do
    if args[i + 1] ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = args[i + 1]
    end
  end
  server.call('HSET', key, unpack(fields))
  server.call('ZADD', keys.quotas(tag), 0, args[2] .. '|' .. id)
  return { 'ok', 'created' }
end
