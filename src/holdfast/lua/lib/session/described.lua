--- A session as replies show it.
--- @requires lib/core/keys lib/session/sessions lib/session/transcript
local described = {}

--- Its fields as name, value pairs.
function described.fields(session)
  local fields = {}
  for name, value in pairs(session) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  return fields
end

--- The execution that has not ended: STATE HOLD SINCE, each empty if there is none.
local function current(tag, id, session)
  local execution = sessions.current(id, session)
  local values = execution and server.call('HMGET', keys.record(tag, execution), 'state', 'hold', 'since') or {}
  for i = 1, 3 do values[i] = values[i] or '' end
  return values
end

--- id, fields, ACTIVE_AT, BUFFERED, STATE HOLD SINCE of its execution.
function described.row(tag, id, session, active)
  active = active or server.call('ZSCORE', keys.sessions(tag, session.tenant), id)
  local buffered = server.call('LLEN', keys.buffered(tag, id))
  return { id, described.fields(session), active, buffered, current(tag, id, session) }
end

--- The same, then entries after a number as NUMBER PACKED, MORE as 1 or 0, numbers of dead replies. After
--- -5 follow the last five.
function described.with_entries(tag, id, session, after, limit)
  local rows, more = {}, 0
  if after < 0 then after = math.max(0, tonumber(session.last or 0) + after) end
  if limit > 0 then rows, more = transcript.after(tag, id, session, after, limit) end
  local dead = session.sender and server.call('HKEYS', keys.dead_replies(tag, id)) or {}
  return { 'ok', described.row(tag, id, session), rows, more, dead }
end
