--- A quota: its definition and what counts against it now.
--- @key tag the partition of quotas
--- @arg id @arg name the id, or ID#VALUE for one value of a tag
--- @ok fields as name, value pairs, running, in the window, waiting, promised, when the window has room
--- @no quota_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/limit/waiters

local function run(tag, args)
  local id, name = unpack(args)
  local fields = server.call('HGETALL', keys.quota(tag, id))
  if #fields == 0 then return reply.no('quota_not_found', 'id', id) end
  local window = tonumber(server.call('HGET', keys.quota(tag, id), 'window') or 0)
  local now = clock.now(tag)
  local admissions, since = keys.admissions(tag, name), '(' .. ('%d'):format(now - window)
  local oldest = server.call('ZRANGE', admissions, since, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  return {
    'ok',
    fields,
    server.call('HLEN', keys.holders(tag, name)),
    server.call('ZCOUNT', admissions, since, '+inf'),
    waiters.count(tag, name),
    server.call('ZCOUNT', keys.promises(tag, name), '(' .. ('%d'):format(now), '+inf'),
    oldest and oldest + window or '',
  }
end
