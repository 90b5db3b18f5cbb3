--- Let a person answer a session, or give it back to its conversation, which gets what came meanwhile.
--- @key tag the partition
--- @arg id @arg to who answers, empty: the conversation @arg why or empty
--- @arg note the payload of the entry that says so @arg token of this call; older callers send none
--- @ok the session: id, fields, ACTIVE_AT, BUFFERED, STATE HOLD SINCE of its execution
--- @no session_not_found
--- @flags write @owned session
--- @requires lib/core/clock lib/core/record lib/core/reply lib/session/sessions
--- @requires lib/session/transcript lib/session/conversations lib/session/described lib/core/once

local MOST_MESSAGES = 100

--- The messages that came while a person answered, as JSON.
local function meanwhile(tag, id, session)
  local messages = {}
  local rows = transcript.after(tag, id, session, tonumber(session.handed or 0), transcript.MOST)
  for _, row in ipairs(rows) do
    local entry = cmsgpack.unpack(row[2])
    if entry.d == 'i' and entry.e == 'p' then messages[#messages + 1] = transcript.message(row[1], entry) end
  end
  local first = math.max(1, #messages - MOST_MESSAGES + 1)
  return '[' .. table.concat(messages, ',', first) .. ']'
end

local function hand_over(tag, args)
  local id, to, why, note = unpack(args)
  local now = clock.now(tag)
  local session = sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id) end
  if to ~= '' then
    if session.person ~= to or (session.why or '') ~= why then
      conversations.hand_over(tag, id, session, to, why, note, now)
    end
  elseif session.person then
    local execution = sessions.current(id, session)
    local rec = execution and record.read(tag, execution)
    sessions.clear(tag, id, session, { 'person', 'why' })
    if rec and conversations.awaits_person(rec) then
      conversations.resume(tag, execution, rec, meanwhile(tag, id, session), now)
    end
    sessions.clear(tag, id, session, { 'handed' })
    transcript.append(tag, id, session, { d = 'n', p = note }, now)
  end
  sessions.notify(tag, id, now)
  return { 'ok', described.row(tag, id, session) }
end

local function run(tag, args) return once.run(tag, args[5], hand_over, args) end
