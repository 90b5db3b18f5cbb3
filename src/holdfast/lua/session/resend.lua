--- Send a dead reply again, before those that were not sent yet. The same call again changes nothing.
--- @key tag the partition
--- @arg id @arg number
--- @ok
--- @no session_not_found | reply_not_found
--- @flags write @owned session
--- @requires lib/core/clock lib/core/reply lib/session/sessions lib/session/outgoing
--- @requires lib/session/transcript lib/session/dead

local function run(tag, args)
  local id, number = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  local entry = transcript.entry(tag, id, session, tonumber(number))
  if not entry or not dead.remove(tag, id, session, number) then
    if entry and entry.again then return { 'ok' } end
    return reply.no('reply_not_found', 'id', id, 'number', tonumber(number))
  end
  entry.again, entry.resent, entry.rc = now, (entry.resent or 0) + 1, nil
  transcript.replace(tag, id, session, tonumber(number), entry)
  sessions.clear(tag, id, session, { 'tries' })
  sessions.add_to(tag, id, session, 'again', number)
  outgoing.add(tag, id, session, now)
  return { 'ok' }
end
