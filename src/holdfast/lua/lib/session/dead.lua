--- Replies that no sender could deliver. Each session has its own, and a list of the tenant has all of
--- them, as SESSION:NUMBER by the time of their death.
--- @requires lib/core/keys
local dead = {}

--- A reply is dead, and this is why.
function dead.add(tag, id, session, number, problem, now)
  server.call('HSET', keys.dead_replies(tag, id), number, problem)
  server.call('ZADD', keys.tenant_dead_replies(tag, session.tenant), now, id .. ':' .. number)
end

--- A reply is not dead, or not kept, any more; returns whether it was dead.
function dead.remove(tag, id, session, number)
  if server.call('HDEL', keys.dead_replies(tag, id), number) == 0 then return false end
  server.call('ZREM', keys.tenant_dead_replies(tag, session.tenant), id .. ':' .. number)
  return true
end

--- The session is removed.
function dead.forget(tag, id, session)
  for _, number in ipairs(server.call('HKEYS', keys.dead_replies(tag, id))) do
    dead.remove(tag, id, session, number)
  end
end
