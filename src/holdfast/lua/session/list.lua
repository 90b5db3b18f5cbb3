--- Sessions by the time of their last entry, the newest first.
--- @key tag the partition
--- @arg tenant or empty @arg user or empty @arg before in ms, or empty
--- @arg last of those at that time, the id of the session to start after, or empty @arg limit
--- @ok rows: id, fields, ACTIVE_AT, BUFFERED, then of the execution that has not ended STATE HOLD SINCE
--- @flags no-writes
--- @requires lib/core/keys lib/session/sessions lib/session/users
--- @requires lib/session/described

local CHUNK = 100

--- Whether a session comes after the place where the last page ended.
local function follows(id, active, wanted)
  if wanted.last == '' or tonumber(active) < tonumber(wanted.before) then return true end
  return active == wanted.before and id < wanted.last
end

--- Up to `limit` sessions after a place in a list.
local function add_listed(tag, listed, wanted, rows)
  local offset, added = 0, 0
  while true do
    local page = server.call(
      'ZRANGE', listed, wanted.before, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, CHUNK, 'WITHSCORES'
    )
    for i = 1, #page, 2 do
      local id, active = page[i], page[i + 1]
      if follows(id, active, wanted) then
        rows[#rows + 1] = described.row(tag, id, sessions.read(tag, id), active)
        added = added + 1
        if added == wanted.limit then return end
      end
    end
    if #page < 2 * CHUNK then return end
    offset = offset + CHUNK
  end
end

--- Sessions of a user.
local function add_of_user(tag, tenant, user, wanted, rows)
  local id, several = users.sessions(tag, tenant, user)
  if several then
    add_listed(tag, keys.user_sessions(tag, tenant, user), wanted, rows)
  elseif id then
    local active = server.call('ZSCORE', keys.sessions(tag, tenant), id)
    if follows(id, active, wanted) then
      rows[#rows + 1] = described.row(tag, id, sessions.read(tag, id), active)
    end
  end
end

local function run(tag, args)
  local tenant, user, before, last, limit = unpack(args)
  local wanted = { before = before ~= '' and before or '+inf', last = last, limit = tonumber(limit) }
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
