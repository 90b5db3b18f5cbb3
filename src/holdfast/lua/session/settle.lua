--- Say what became of the next reply of a session: sent, to be retried, or dead. `later` is a retry
--- that does not count as a try, for a day at most; `part` says how many messages of the reply are sent.
--- @key tag the partition
--- @arg id @arg fence of the hand-out @arg number @arg outcome sent, retry, later, part or dead
--- @arg delay_ms until the next try, or empty; of a part, how many are sent
--- @arg error why it is dead, or empty
--- @arg lease_ms how much longer the hand-out holds
--- @ok
--- @no session_not_found | stale_lease
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/session/sessions lib/session/outgoing
--- @requires lib/session/transcript lib/session/dead

local LONGEST_MS = 86400000

--- Whether a reply has waited long enough, since it was written or sent again.
local function is_late(tag, id, session, number, now)
  local entry = transcript.entry(tag, id, session, tonumber(number))
  return not entry or now - math.max(entry.at, entry.again or 0) > LONGEST_MS
end

local function run(tag, args)
  local id, fence, number, outcome, delay, problem, lease = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  -- The same call again, after its reply was lost.
  local waits = outcome == 'retry' or outcome == 'later'
  if waits and session.fence == '-' .. fence then return { 'ok' } end
  if session.fence ~= fence then return reply.no('stale_lease', 'id', id, 'state', 'sent by another') end
  if outcome == 'part' then
    sessions.write(tag, id, session, { 'parts', number .. ' ' .. delay })
    outgoing.rest(tag, id, session, now + tonumber(lease))
    return { 'ok' }
  end
  if outcome == 'later' and is_late(tag, id, session, number, now) then
    outcome, waits = 'dead', false
  end
  if waits then
    local tries = tonumber(session.tries or 0) + (outcome == 'retry' and 1 or 0)
    sessions.write(tag, id, session, { 'tries', tries, 'fence', '-' .. fence })
    outgoing.rest(tag, id, session, now + tonumber(delay))
    return { 'ok' }
  end
  -- One that has left the transcript cannot be sent again.
  if outcome == 'dead' and transcript.entry(tag, id, session, tonumber(number)) then
    dead.add(tag, id, session, number, problem, now)
  end
  if tonumber(number) > tonumber(session.sent or 0) then
    sessions.write(tag, id, session, { 'sent', number })
  end
  sessions.clear(tag, id, session, { 'tries', 'parts' })
  sessions.remove_from(tag, id, session, 'again', number)
  local rows = outgoing.pending(tag, id, session)
  outgoing.rest(tag, id, session, #rows > 0 and now + tonumber(lease) or nil)
  sessions.notify(tag, id, now)
  return { 'ok' }
end
