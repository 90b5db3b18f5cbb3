--- Cancel the execution of a session and drop what was buffered; the next message starts again.
--- @key tag the partition
--- @arg id @arg reason @arg token of this call; older callers send none
--- @ok the session: id, fields, ACTIVE_AT, BUFFERED, STATE HOLD SINCE of its execution
--- @no session_not_found
--- @event cancelled
--- @flags allow-oom @owned session
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/execution/finish
--- @requires lib/session/sessions lib/session/described lib/core/once

local function close(tag, args)
  local id, reason = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  local execution = sessions.current(id, session)
  local rec = execution and record.read(tag, execution)
  server.call('DEL', keys.buffered(tag, id))
  sessions.clear(tag, id, session, { 'person', 'handed', 'why' })
  if rec and not record.is_terminal(rec.state) then
    finish.now(tag, execution, rec, 'cancelled', now, {}, {
      event = 'cancelled',
      attempt = record.open_attempt(rec),
      reason = reason,
    })
  end
  sessions.notify(tag, id, now)
  return { 'ok', described.row(tag, id, sessions.read(tag, id)) }
end

local function run(tag, args) return once.run(tag, args[3], close, args) end
