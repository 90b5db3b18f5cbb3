--- Remove a session with its transcript, state and executions. What runs is cancelled first. The same call
--- again, within an hour, gets the same answer.
--- @key tag the partition
--- @arg id
--- @ok MORE: 1 if executions are left, then call again
--- @no session_not_found
--- @event cancelled
--- @flags allow-oom @owned session
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/execution/finish
--- @requires lib/session/sessions lib/admin/archive

local MOST_IN_CALL, REMEMBER_MS = 100, 3600000

local function run(tag, args)
  local id = args[1]
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then
    if server.call('EXISTS', keys.erased_session(tag, id)) == 1 then return { 'ok', 0 } end
    return reply.no('session_not_found', 'id', id)
  end
  server.call('DEL', keys.buffered(tag, id))
  local current, number = sessions.current(id, session), sessions.started(tag, id, session)
  sessions.clear(tag, id, session, { 'cur' })
  local least = math.max(0, number - MOST_IN_CALL)
  for n = number, least + 1, -1 do
    local execution = id .. '~' .. n
    local rec = record.read(tag, execution)
    if rec and execution == current and not record.is_terminal(rec.state) then
      finish.now(tag, execution, rec, 'cancelled', now, {}, {
        event = 'cancelled',
        attempt = record.open_attempt(rec),
        reason = 'the session was erased',
      })
    end
    if rec then
      archive.leave(tag, execution)
      finish.forget(tag, execution, rec)
    end
  end
  if least > 0 then
    sessions.write(tag, id, session, { 'n', least })
    return { 'ok', 1 }
  end
  sessions.forget(tag, id, session, now)
  server.call('SET', keys.erased_session(tag, id), session.tenant, 'PX', REMEMBER_MS)
  return { 'ok', 0 }
end
