--- The sessions of a user. Most users have one, so a hash of the tenant names it:
---   user = the id of the session, or empty: a sorted set has them, by the time of their last entry
--- @requires lib/core/keys
local users = {}

local MANY = ''

--- Note that something was written to a session now; sessions are listed by this.
function users.touch(tag, id, session, now)
  local key = keys.session_users(tag, session.tenant)
  local known = server.call('HGET', key, session.user)
  if known == id then return end
  if not known then
    server.call('HSET', key, session.user, id)
    return
  end
  local listed = keys.user_sessions(tag, session.tenant, session.user)
  if known ~= MANY then
    local active = server.call('ZSCORE', keys.sessions(tag, session.tenant), known)
    server.call('ZADD', listed, active, known)
    server.call('HSET', key, session.user, MANY)
  end
  server.call('ZADD', listed, now, id)
end

--- Remove a session from those of its user.
function users.leave(tag, id, session)
  local key = keys.session_users(tag, session.tenant)
  local known = server.call('HGET', key, session.user)
  if known == MANY then
    local listed = keys.user_sessions(tag, session.tenant, session.user)
    server.call('ZREM', listed, id)
    if server.call('EXISTS', listed) == 1 then return end
  elseif known ~= id then
    return
  end
  server.call('HDEL', key, session.user)
end

--- The only session of a user, or nil; and whether there are several.
function users.sessions(tag, tenant, user)
  local known = server.call('HGET', keys.session_users(tag, tenant), user)
  if known == MANY then return nil, true end
  return known or nil, false
end
