--- Note what a provider reports about a reply that it took: delivered, read, or failed. A reply that
--- failed is dead, and can be sent again. Reports may come late, repeated and in any order.
--- @key tag the partition
--- @arg id @arg number @arg state @arg problem why it failed, or empty
--- @arg env @arg tenant @arg endpoint that reports; it knows no sessions of others
--- @ok noted | kept
--- @no session_not_found | reply_not_found
--- @flags allow-oom @owned session
--- @requires lib/core/clock lib/core/reply lib/session/sessions lib/session/transcript
--- @requires lib/session/dead

local RANKS = { failed = 1, delivered = 2, read = 3 }

local function run(tag, args)
  local id, number, state, problem, env, tenant, endpoint = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session or session.env ~= env or session.tenant ~= tenant or session.endpoint ~= endpoint then
    return reply.no('session_not_found', 'id', id)
  end
  local entry = transcript.entry(tag, id, session, tonumber(number))
  if not entry or entry.d ~= 'o' then
    return reply.no('reply_not_found', 'id', id, 'number', tonumber(number))
  end
  if RANKS[state] <= (RANKS[entry.rc] or 0) then return { 'ok', 'kept' } end
  -- The failure for which it is sent again, reported once more.
  if state == 'failed' and sessions.lists(session, 'again', number) then return { 'ok', 'kept' } end

  entry.rc = state
  transcript.replace(tag, id, session, tonumber(number), entry)
  if state == 'failed' then
    dead.add(tag, id, session, number, problem, now)
  else
    dead.remove(tag, id, session, number)
  end
  sessions.notify(tag, id, now)
  return { 'ok', 'noted' }
end
