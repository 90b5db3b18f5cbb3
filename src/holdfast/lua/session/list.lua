--- Sessions by the time of their last entry, the newest first.
--- @key tag the partition
--- @arg tenant or empty @arg user or empty @arg before in ms, or empty
--- @arg last of those at that time, the id of the session to start after, or empty @arg limit
--- @ok rows: id, fields, ACTIVE_AT, BUFFERED, then of the execution that has not ended STATE HOLD SINCE
--- @flags no-writes
--- @requires lib/core/keys lib/session/sessions lib/session/described

local CHUNK = 100

--- Up to `limit` sessions after a place in a list.
local function add(tag, listed, wanted, rows)
  local offset, added = 0, 0
  while true do
    local page = server.call(
      'ZRANGE', listed, wanted.before, '-inf', 'BYSCORE', 'REV', 'LIMIT', offset, CHUNK, 'WITHSCORES'
    )
    for i = 1, #page, 2 do
      local id, active = page[i], page[i + 1]
      local passed = active == wanted.before and wanted.last ~= '' and id >= wanted.last
      if not passed then
        rows[#rows + 1] = described.row(tag, id, sessions.read(tag, id), active)
        added = added + 1
        if added == wanted.limit then return end
      end
    end
    if #page < 2 * CHUNK then return end
    offset = offset + CHUNK
  end
end

local function run(tag, args)
  local tenant, user, before, last, limit = unpack(args)
  local wanted = { before = before ~= '' and before or '+inf', last = last, limit = tonumber(limit) }
  local rows = { 'ok' }
  local tenants = tenant ~= '' and { tenant } or server.call('SMEMBERS', keys.session_tenants(tag))
  for _, name in ipairs(tenants) do
    local listed = user == '' and keys.sessions(tag, name) or keys.user_sessions(tag, name, user)
    add(tag, listed, wanted, rows)
  end
  return rows
end
