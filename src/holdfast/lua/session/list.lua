--- Sessions by the time of their last entry, the newest first.
--- @key tag the partition
--- @arg tenant or empty @arg user or empty @arg before in ms, or empty
--- @arg last of those at that time, the id of the session to start after, or empty @arg limit
--- @ok rows: id, fields, ACTIVE_AT, BUFFERED, then of the execution that has not ended STATE HOLD SINCE
--- @flags no-writes
--- @requires lib/core/keys lib/session/sessions lib/session/described

-- Those of one user are found by looking at all; this bounds one call.
local MOST_LOOKS, CHUNK = 10000, 100

--- Up to `limit` sessions of a tenant after a place in its list.
local function add(tag, tenant, wanted, rows)
  local offset, looks, added = 0, 0, 0
  while looks < MOST_LOOKS and added < wanted.limit do
    local page = server.call(
      'ZRANGE', keys.sessions(tag, tenant), wanted.before, '-inf',
      'BYSCORE', 'REV', 'LIMIT', offset, CHUNK, 'WITHSCORES'
    )
    if #page == 0 then return end
    for i = 1, #page, 2 do
      local id, active = page[i], page[i + 1]
      local passed = active == wanted.before and wanted.last ~= '' and id >= wanted.last
      local session = not passed and sessions.read(tag, id)
      if session and (wanted.user == '' or session.user == wanted.user) and added < wanted.limit then
        rows[#rows + 1] = described.row(tag, id, session, active)
        added = added + 1
      end
    end
    offset, looks = offset + CHUNK, looks + CHUNK
  end
end

local function run(tag, args)
  local tenant, user, before, last, limit = unpack(args)
  local wanted = { user = user, before = before ~= '' and before or '+inf', last = last, limit = tonumber(limit) }
  local rows = { 'ok' }
  local tenants = tenant ~= '' and { tenant } or server.call('SMEMBERS', keys.session_tenants(tag))
  for _, name in ipairs(tenants) do add(tag, name, wanted, rows) end
  return rows
end
