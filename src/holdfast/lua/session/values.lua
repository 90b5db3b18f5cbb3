--- The whole state of a session.
--- @key tag the partition
--- @arg id
--- @ok values: NAME VERSION VALUE
--- @no session_not_found
--- @flags no-writes @owned session
--- @requires lib/core/keys lib/core/clock lib/core/reply

local function run(tag, args)
  local id = args[1]
  local now = clock.now(tag)
  if server.call('EXISTS', keys.session(tag, id)) == 0 then return reply.no('session_not_found', 'id', id) end
  local rows = { 'ok' }
  local flat = server.call('HGETALL', keys.session_state(tag, id))
  for i = 1, #flat, 2 do
    local value = cmsgpack.unpack(flat[i + 1])
    if not (value.until_ms and value.until_ms <= now) then
      rows[#rows + 1] = { flat[i], value.version, value.value }
    end
  end
  return rows
end
