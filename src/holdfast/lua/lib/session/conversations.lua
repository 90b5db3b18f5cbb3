--- The turns of a session: at most one of its executions has not ended, and that one receives the
--- messages. While it waits for the next, its record has
---   awaits = the step that will hold what comes   since = when the wait began
---   kept = the epoch of the lease of the worker that keeps the coroutine, so that it needs no journal
--- What comes is recorded as the result of that step, so a new attempt receives the same.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/timers lib/core/stamps lib/core/settings
--- @requires lib/execution/birth lib/execution/ready lib/execution/requeue lib/execution/finish
--- @requires lib/execution/steps lib/limit/limits lib/session/sessions lib/session/transcript
--- @requires lib/session/outgoing
local conversations = {}

conversations.MOST_BUFFERED = 100

-- What a parked execution forgets: a turn succeeded, so the next one has its own time, retries and
-- losses, however long they talk.
local STALE = {
  'timeout_at', 'resumed', 'due', 'wait_until', 'on_timeout', 'kept', 'tail', 'failures', 'reclaims',
}

local APOLOGY = 'Something went wrong. Please try again.'

--- What a conversation receives: the messages of these numbers, as JSON. Their entries say by which
--- execution, and with which others.
local function received(tag, id, session, numbers, started)
  local messages = {}
  for _, number in ipairs(numbers) do
    local entry = transcript.entry(tag, id, session, number)
    messages[#messages + 1] = transcript.message(number, entry)
    local last = numbers[#numbers]
    if number ~= last or entry.x ~= started then
      entry.t, entry.x = number ~= last and last or nil, started
      transcript.replace(tag, id, session, number, entry)
    end
  end
  return '[' .. table.concat(messages, ',') .. ']'
end

--- Start an execution that receives messages. Returns its id.
function conversations.start(tag, id, session, item, numbers, now)
  local number = sessions.started(tag, id, session) + 1
  while server.call('EXISTS', keys.record(tag, id .. '~' .. number)) == 1 do number = number + 1 end
  local execution = id .. '~' .. number
  if settings.has_rules(tag) then item.limits = limits.resolve(tag, item) end
  local stamp = stamps.next(tag, now)
  stamps.take(tag, stamp)
  local rec = birth.compose(item, now, stamp, settings.priority_us(tag))
  rec.session = 1
  birth.store(tag, execution, rec, item, '{"messages":' .. received(tag, id, session, numbers, number) .. '}')
  index.move_many(tag, { { execution, rec } })
  ready.add(tag, execution, rec)
  if rec.deadline then timers.arm(tag, execution, rec, now) end
  sessions.write(tag, id, session, { 'n', number, 'cur', number, 'turn', numbers[#numbers] })
  if item.rev then
    sessions.write(tag, id, session, { 'rev', item.rev })
  else
    sessions.clear(tag, id, session, { 'rev' })
  end
  return execution
end

--- Take what was buffered, the next message or all of them: their numbers, or nil.
function conversations.take(tag, id, session)
  local key, numbers = keys.buffered(tag, id), {}
  local first = server.call('LPOP', key)
  while first do
    numbers[#numbers + 1] = tonumber(first)
    first = session.busy == 'merge' and server.call('LPOP', key)
  end
  if #numbers == 0 then return nil end
  return numbers
end

local function is_suspended(rec, hold) return rec.state == 'suspended' and rec.hold == hold end

--- Whether an execution waits for the next message of its session.
function conversations.awaits_message(rec) return is_suspended(rec, 'message') end

--- Whether a person answers until they give the session back to this execution.
function conversations.awaits_person(rec) return is_suspended(rec, 'person') end

--- Whether it waits for either.
function conversations.waits(rec) return conversations.awaits_message(rec) or conversations.awaits_person(rec) end

--- Record the result of a wait.
local function record_step(tag, execution, rec, step, result, now)
  local number = tonumber(rec.steps or 0) + 1
  steps.put(tag, execution, step, number, now, result)
  record.write(tag, execution, rec, { 'steps', number })
end

--- Give the lease back until something comes.
function conversations.park(tag, execution, rec, wait, now)
  local before = rec.state
  local changes = { 'state', 'suspended', 'hold', wait.hold, 'open', '1', 'awaits', wait.step, 'since', now }
  if rec.limited then limits.leave(tag, execution, rec, before, now) end
  if wait.kept then
    changes[#changes + 1] = 'kept'
    changes[#changes + 1] = rec.epoch
  end
  record.clear(tag, execution, rec, STALE)
  if wait.timeout then
    local ends = now + wait.timeout
    for _, value in ipairs({ 'wait_until', ends, 'on_timeout', 'resume', 'due', ends }) do
      changes[#changes + 1] = value
    end
  end
  record.write(tag, execution, rec, changes)
  index.move(tag, execution, rec, before)
  timers.arm(tag, execution, rec, now)
end

--- End a wait with what came.
function conversations.resume(tag, execution, rec, result, now)
  record_step(tag, execution, rec, rec.awaits, result, now)
  record.clear(tag, execution, rec, { 'since', 'wait_until', 'on_timeout' })
  requeue.ready(tag, execution, rec, now, {})
end

--- Let the current execution receive messages; returns them as JSON.
local function receive(tag, id, session, numbers)
  sessions.write(tag, id, session, { 'turn', numbers[#numbers] })
  return received(tag, id, session, numbers, tonumber(session.cur))
end

--- Deliver a message, which is in the transcript, to the execution that waits for one.
function conversations.deliver(tag, id, session, execution, rec, number, now)
  conversations.resume(tag, execution, rec, receive(tag, id, session, { number }), now)
end

--- Let a wait find what was buffered: it is recorded and returned, nil if there is nothing.
function conversations.find(tag, id, session, execution, rec, step, now)
  local numbers = conversations.take(tag, id, session)
  if not numbers then return nil end
  local result = receive(tag, id, session, numbers)
  record_step(tag, execution, rec, step, result, now)
  return result
end

--- The timer of a wait fired: nothing came.
function conversations.time_out(tag, execution, rec, now)
  local id = sessions.of(execution)
  local session = sessions.read(tag, id)
  if session and rec.hold == 'person' then sessions.clear(tag, id, session, { 'person', 'handed', 'why' }) end
  conversations.resume(tag, execution, rec, '[]', now)
  sessions.notify(tag, id, now)
end

--- Let a person answer from now on, and note that in the transcript.
function conversations.hand_over(tag, id, session, to, why, note, now)
  if not session.person then sessions.write(tag, id, session, { 'handed', session.last or 0 }) end
  sessions.write(tag, id, session, { 'person', to })
  sessions.clear(tag, id, session, { 'why' })
  if why ~= '' then sessions.write(tag, id, session, { 'why', why }) end
  transcript.append(tag, id, session, { d = 'n', p = note }, now)
end

--- Write a reply; returns its number.
function conversations.reply(tag, id, session, entry, now)
  entry.d, entry.t = 'o', tonumber(session.turn or nil)
  local number = transcript.append(tag, id, session, entry, now)
  outgoing.add(tag, id, session, now)
  return number
end

--- Replies that were being streamed when their execution ended stay as they are.
local function cut_short(tag, id, session, now)
  for number in session.streamed:gmatch('%d+') do
    local entry = transcript.entry(tag, id, session, tonumber(number))
    if entry then
      entry.open, entry.cut = nil, 1
      transcript.replace(tag, id, session, tonumber(number), entry)
    end
  end
  sessions.clear(tag, id, session, { 'streamed' })
  outgoing.add(tag, id, session, now)
end

--- The execution of a session has ended: apologise if it failed, and let the next one receive what was
--- buffered. lib/execution/finish.lua calls it.
function finish.converse(tag, execution, rec, now)
  local id, number = sessions.of(execution)
  local session = sessions.read(tag, id)
  if not session or session.cur ~= number then return end
  sessions.clear(tag, id, session, { 'cur' })
  if session.streamed then cut_short(tag, id, session, now) end
  if rec.state == 'failed' or rec.state == 'expired' then
    local text = transcript.quoted(session.apology or APOLOGY)
    local payload = '{"text":' .. text .. ',"error":"' .. rec.state .. '"}'
    conversations.reply(tag, id, session, { p = payload, x = tonumber(number) }, now)
  end
  -- The person who answers has read them.
  if session.person then server.call('DEL', keys.buffered(tag, id)) end
  local numbers = conversations.take(tag, id, session)
  if numbers then
    conversations.start(tag, id, session, birth.copy(tag, execution, rec), numbers, now)
  else
    sessions.rest(tag, id, session, now)
  end
  sessions.notify(tag, id, now)
end
