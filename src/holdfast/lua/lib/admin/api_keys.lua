--- API keys, in the global partition. Only a digest of a key is stored; its id is the digest's
--- beginning. A key that has ended stays listed for a while, so that people can see its end.
--- @requires lib/core/keys lib/core/timers
local access = {}

local SHOWN_AFTER_END_MS = 30 * 86400000

--- Schedule the removal of a key some time after its end.
function access.end_at(tag, id, ends, now) timers.set(tag, 'a:' .. id, ends + SHOWN_AFTER_END_MS, now) end

--- The timer of a key fired: remove it. The last key stays, although it has ended: a server on a store
--- without keys treats every local caller as the operator.
function access.forget(tag, id, now)
  if server.call('SCARD', keys.accesses(tag)) == 1 then return access.end_at(tag, id, now, now) end
  server.call('ZREM', keys.timers(tag), 'a:' .. id)
  server.call('SREM', keys.accesses(tag), id)
  server.call('UNLINK', keys.access(tag, id))
end
