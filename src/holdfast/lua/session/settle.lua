--- Say what became of the next reply of a session: sent, to be retried, or dead.
--- @key tag the partition
--- @arg id @arg fence of the hand-out @arg number @arg outcome sent, retry or dead
--- @arg delay_ms until the next try, or empty @arg error why it is dead, or empty
--- @arg lease_ms how much longer the hand-out holds
--- @ok
--- @no session_not_found | stale_lease
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/session/sessions lib/session/outgoing

local function run(tag, args)
  local id, fence, number, outcome, delay, problem, lease = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  -- The same call again, after its reply was lost.
  if outcome == 'retry' and session.fence == '-' .. fence then return { 'ok' } end
  if session.fence ~= fence then return reply.no('stale_lease', 'id', id, 'state', 'sent by another') end
  if outcome == 'retry' then
    sessions.write(tag, id, session, { 'tries', tonumber(session.tries or 0) + 1, 'fence', '-' .. fence })
    outgoing.rest(tag, id, session, now + tonumber(delay))
    return { 'ok' }
  end
  if outcome == 'dead' then server.call('HSET', keys.dead_replies(tag, id), number, problem) end
  if tonumber(number) > tonumber(session.sent or 0) then
    sessions.write(tag, id, session, { 'sent', number })
  end
  sessions.clear(tag, id, session, { 'tries' })
  sessions.remove_from(tag, id, session, 'again', number)
  local rows = outgoing.pending(tag, id, session)
  outgoing.rest(tag, id, session, #rows > 0 and now + tonumber(lease) or nil)
  sessions.notify(tag, id, now)
  return { 'ok' }
end
