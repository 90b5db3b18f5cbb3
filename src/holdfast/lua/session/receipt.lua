--- Note what a provider reports about a reply that it took: delivered, read, or failed. A reply that
--- failed is dead, and can be sent again. Reports may come late, repeated and in any order.
--- @key tag the partition
--- @arg id @arg number @arg state @arg problem why it failed, or empty
--- @arg env @arg tenant @arg endpoint that reports; it knows no sessions of others
--- @arg resent how often it had been sent again when that was sent; older callers do not say
--- @ok noted | kept
--- @no session_not_found | reply_not_found
--- @flags allow-oom @owned session
--- @requires lib/core/clock lib/core/reply lib/session/sessions lib/session/transcript
--- @requires lib/session/dead

local RANKS = { failed = 1, delivered = 2, read = 3 }

--- Whether a failure is about an earlier sending than the present one. Older callers do not say which
--- they mean: until a reply is sent again, only an earlier one.
local function is_of_earlier(session, number, entry, resent)
  if resent then return tonumber(resent) < (entry.resent or 0) end
  return sessions.lists(session, 'again', number)
end

local function run(tag, args)
  local id, number, state, problem, env, tenant, endpoint, resent = unpack(args)
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
  if state == 'failed' and is_of_earlier(session, number, entry, resent) then return { 'ok', 'kept' } end

  entry.rc = state
  transcript.replace(tag, id, session, tonumber(number), entry)
  if state == 'failed' then
    sessions.remove_from(tag, id, session, 'again', number)
    dead.add(tag, id, session, number, problem, now)
  else
    dead.remove(tag, id, session, number)
  end
  sessions.notify(tag, id, now)
  return { 'ok', 'noted' }
end
