--- A session and its transcript after a number; a process is notified of changes for a minute.
--- @key tag the partition
--- @arg id @arg after @arg limit @arg process its mailbox
--- @ok the session, entries: NUMBER PACKED, MORE as 1 or 0, numbers of dead replies
--- @no session_not_found
--- @flags allow-oom @owned session
--- @requires lib/core/clock lib/core/reply lib/session/sessions lib/session/described

local function run(tag, args)
  local id, after, limit = args[1], tonumber(args[2]), tonumber(args[3])
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  sessions.listen(tag, id, args[4], clock.now(tag))
  return described.with_entries(tag, id, session, after, limit)
end
