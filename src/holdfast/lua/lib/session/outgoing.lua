--- Replies that a sender delivers, in order. A session with such replies is listed by the time at which
--- a sender may take it; taking it moves that time behind a lease, so one process at a time sends.
---   sent = the last reply that was settled   fence = of the process that sends   tries = of the next one
---   again = dead replies that are sent before the others
---   parts = NUMBER COUNT: how many messages of a reply are sent
--- @requires lib/core/keys lib/core/wake lib/session/transcript
local outgoing = {}

-- An attempt at one reply takes longer only if its sender is gone.
outgoing.MOST_IN_CALL = 20

--- A reply was written.
function outgoing.add(tag, id, session, now)
  if not session.sender then return end
  if server.call('ZADD', keys.outgoing(tag, session.sender), 'NX', now, id) == 1 then wake.senders(tag) end
end

--- Another sender delivers the replies from now on.
function outgoing.move(tag, id, session, sender)
  if sender == session.sender then return end
  local before = keys.outgoing(tag, session.sender)
  local at = server.call('ZSCORE', before, id)
  if not at then return end
  server.call('ZREM', before, id)
  server.call('ZADD', keys.outgoing(tag, sender), at, id)
  wake.senders(tag)
end

--- The replies that were not settled, as NUMBER PACKED, up to one that is not complete.
function outgoing.pending(tag, id, session)
  local rows = {}
  local after = tonumber(session.sent or 0)
  if session.again then
    return (transcript.after(tag, id, session, tonumber(session.again:match('%d+')) - 1, 1))
  end
  for _ = 1, 50 do
    local page, more = transcript.after(tag, id, session, after, 100)
    for _, row in ipairs(page) do
      local entry = cmsgpack.unpack(row[2])
      after = row[1]
      if entry.open then return rows end
      if entry.d == 'o' and not entry.cut then rows[#rows + 1] = row end
      if #rows == outgoing.MOST_IN_CALL then return rows end
    end
    if more == 0 then break end
  end
  return rows
end

--- Nothing is left to send, or another look is due at `at`.
function outgoing.rest(tag, id, session, at)
  local key = keys.outgoing(tag, session.sender)
  if at then
    server.call('ZADD', key, at, id)
  else
    server.call('ZREM', key, id)
  end
end
