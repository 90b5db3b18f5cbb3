--- A session and its transcript after a number.
--- @key tag the partition
--- @arg id @arg after a number, negative: from the end @arg limit
--- @ok the session, entries: NUMBER PACKED, MORE as 1 or 0, numbers of dead replies
--- @no session_not_found
--- @flags no-writes @owned session
--- @requires lib/core/reply lib/session/sessions lib/session/described

local function run(tag, args)
  local id, after, limit = args[1], tonumber(args[2]), tonumber(args[3])
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  return described.with_entries(tag, id, session, after, limit)
end
