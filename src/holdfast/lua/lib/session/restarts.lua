--- How a session leaves a revision whose drain is overdue: its conversation is asked to move to another
--- revision, or it ends with a message that says so, and the next message starts again.
--- @requires lib/core/keys lib/core/record lib/execution/finish lib/session/sessions
--- @requires lib/session/transcript lib/session/conversations
local restarts = {}

--- Ask a conversation that waits for a message to move. It gets the request as the result of its wait,
--- so every attempt gets it, and messages that come meanwhile are buffered.
function restarts.ask(tag, execution, rec, now)
  local left = rec.wait_until and ('%d'):format(math.max(0, rec.wait_until - now)) or 'null'
  local request = ('[{"number":0,"at":%d,"id":"","kind":"move","payload":{"left_ms":%s}}]'):format(now, left)
  conversations.resume(tag, execution, rec, request, now)
  sessions.notify(tag, (sessions.of(execution)), now)
end

--- Let the execution receive everything that was buffered, so that the last reply answers it.
local function take_all(tag, id, session)
  local numbers = server.call('LRANGE', keys.buffered(tag, id), 0, -1)
  if #numbers == 0 then return end
  server.call('DEL', keys.buffered(tag, id))
  local last = tonumber(numbers[#numbers])
  for _, number in ipairs(numbers) do
    number = tonumber(number)
    local entry = transcript.entry(tag, id, session, number)
    entry.x, entry.t = tonumber(session.cur), number ~= last and last or nil
    transcript.replace(tag, id, session, number, entry)
  end
  sessions.write(tag, id, session, { 'turn', last })
end

--- End the execution of a session politely. A person who answers goes on, and reads a note instead.
function restarts.finish(tag, execution, rec, text, reason, now)
  local id, number = sessions.of(execution)
  local session = sessions.read(tag, id)
  if session and session.cur == number then
    take_all(tag, id, session)
    local payload = '{"text":' .. transcript.quoted(session.person and reason or text) .. ',"restart":true}'
    if session.person then
      transcript.append(tag, id, session, { d = 'n', p = payload }, now)
    else
      conversations.reply(tag, id, session, { p = payload, x = tonumber(number) }, now)
    end
  end
  finish.now(tag, execution, rec, 'cancelled', now, {}, {
    event = 'cancelled',
    attempt = record.open_attempt(rec),
    reason = reason,
  })
end
