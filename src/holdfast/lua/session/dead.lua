--- Replies that no sender could deliver, the last to die first.
--- @key tag the partition
--- @arg tenant or empty @arg before in ms, or empty
--- @arg last of those at that time, SESSION:NUMBER of the reply to start after, or empty @arg limit
--- @ok rows: SESSION NUMBER DIED_AT PROBLEM, then of the session TENANT ENV ENDPOINT CONVERSATION USER
--- @flags no-writes
--- @requires lib/core/keys lib/session/listed

local FIELDS = { 'tenant', 'env', 'endpoint', 'conversation', 'user' }

local function row(tag, member, died)
  local id, number = member:match('^(.+):(%d+)$')
  local problem = server.call('HGET', keys.dead_replies(tag, id), number)
  return { id, number, died, problem or '', server.call('HMGET', keys.session(tag, id), unpack(FIELDS)) }
end

local function run(tag, args)
  local tenant, before, last, limit = unpack(args)
  local wanted = listed.wanted(before, last, limit)
  local rows = { 'ok' }
  local tenants = tenant ~= '' and { tenant } or server.call('SMEMBERS', keys.session_tenants(tag))
  for _, name in ipairs(tenants) do
    listed.each(keys.tenant_dead_replies(tag, name), wanted, function(member, died)
      rows[#rows + 1] = row(tag, member, died)
    end)
  end
  return rows
end
