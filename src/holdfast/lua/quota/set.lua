--- Change the limits of a quota; waiting executions are admitted if there is room now.
--- @key tag the partition of quotas
--- @arg id @arg window ms or empty @arg most or empty @arg slots or empty: as they are from now on
--- @ok
--- @no quota_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/limit/quota

local FIELDS = { 'window', 'most', 'slots' }

local function run(tag, args)
  local id = args[1]
  local key = keys.quota(tag, id)
  if server.call('EXISTS', key) == 0 then return reply.no('quota_not_found', 'id', id) end
  local now = clock.now(tag)
  for i, name in ipairs(FIELDS) do
    if args[i + 1] == '' then
      server.call('HDEL', key, name)
    else
      server.call('HSET', key, name, args[i + 1])
    end
  end
  if args[2] ~= '' then quota.keep_starts(tag, id, tonumber(args[2])) end
  for _, name in ipairs(server.call('SMEMBERS', keys.quota_queues(tag, id))) do
    if args[2] ~= '' then quota.keep_starts(tag, name, tonumber(args[2])) end
    quota.settle(tag, name, now)
  end
  return { 'ok' }
end
