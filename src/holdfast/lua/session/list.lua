--- Sessions by the time of their last entry, the newest first.
--- @key tag the partition
--- @arg tenant or empty @arg user or empty @arg before in ms, or empty
--- @arg last of those at that time, the id of the session to start after, or empty @arg limit
--- @ok rows: id, fields, ACTIVE_AT, BUFFERED, then of the execution that has not ended STATE HOLD SINCE
--- @flags no-writes
--- @requires lib/core/keys lib/session/sessions lib/session/users
--- @requires lib/session/described lib/session/listed

--- Up to `limit` sessions after a place in a list.
local function add_listed(tag, key, wanted, rows)
  listed.each(key, wanted, function(id, active)
    rows[#rows + 1] = described.row(tag, id, sessions.read(tag, id), active)
  end)
end

--- Sessions of a user.
local function add_of_user(tag, tenant, user, wanted, rows)
  local id, several = users.sessions(tag, tenant, user)
  if several then
    add_listed(tag, keys.user_sessions(tag, tenant, user), wanted, rows)
  elseif id then
    local active = server.call('ZSCORE', keys.sessions(tag, tenant), id)
    if listed.follows(id, active, wanted) then
      rows[#rows + 1] = described.row(tag, id, sessions.read(tag, id), active)
    end
  end
end

local function run(tag, args)
  local tenant, user, before, last, limit = unpack(args)
  local wanted = listed.wanted(before, last, limit)
  local rows = { 'ok' }
  local tenants = tenant ~= '' and { tenant } or server.call('SMEMBERS', keys.session_tenants(tag))
  for _, name in ipairs(tenants) do
    if user == '' then
      add_listed(tag, keys.sessions(tag, name), wanted, rows)
    else
      add_of_user(tag, name, user, wanted, rows)
    end
  end
  return rows
end
