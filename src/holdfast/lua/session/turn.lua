--- Write replies of a conversation, each once per step, then perhaps wait for the next message: take
--- one that was buffered, or give the lease back until one comes.
--- @key tag the partition
--- @arg id of the execution @arg fence @arg replies in msgpack: step, payload, open, number of each
--- @arg step of the wait, empty for none @arg timeout_ms or empty
--- @arg kept 1 if the worker keeps its coroutine
--- @arg person who answers from now on, empty: the next message ends the wait
--- @arg why a person answers, or empty @arg note the payload of the entry that says so
--- @ok active or suspended, what the wait found or empty, then the number of each reply
--- @no execution_not_found | not_active | stale_lease | lease_revoked | session_not_found | too_many_steps
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/execution/lease
--- @requires lib/execution/steps lib/session/sessions lib/session/transcript lib/session/conversations
--- @requires lib/session/outgoing lib/deploy/needs

--- Write a reply, or complete one that was opened; returns its number.
local function write(tag, id, session, execution, given, now)
  local _, number = sessions.of(execution)
  local entry = { p = given.payload, x = tonumber(number) }
  if not given.number then
    entry.open = given.open and 1 or nil
    local written = conversations.reply(tag, id, session, entry, now)
    if given.open then sessions.add_to(tag, id, session, 'streamed', written) end
    return written
  end
  local opened = transcript.entry(tag, id, session, given.number)
  sessions.remove_from(tag, id, session, 'streamed', given.number)
  if opened and opened.x == entry.x and (opened.open or opened.cut) then
    opened.p, opened.open, opened.cut = given.payload, nil, nil
    transcript.replace(tag, id, session, given.number, opened)
    outgoing.add(tag, id, session, now)
  end
  return given.number
end

--- Write those replies that are not recorded yet; returns the numbers of all.
local function write_all(tag, id, session, execution, rec, replies, now)
  local numbers, fields, last = {}, {}, tonumber(rec.steps or 0)
  for i, given in ipairs(replies) do
    local known = steps.result(tag, execution, given.step)
    numbers[i] = known and tonumber(known) or write(tag, id, session, execution, given, now)
    if not known then
      last = last + 1
      fields[#fields + 1] = given.step
      fields[#fields + 1] = ('%d %d %d'):format(last, now, numbers[i])
    end
  end
  if #fields > 0 then
    server.call('HSET', keys.steps(tag, execution), unpack(fields))
    record.write(tag, execution, rec, { 'steps', last })
  end
  return numbers
end

--- Whether the journal has no room for the steps that are not recorded yet.
local function is_full(tag, execution, replies, step)
  local room = steps.MOST - server.call('HLEN', keys.steps(tag, execution))
  if #replies + 1 <= room then return false end
  local new = step ~= '' and steps.result(tag, execution, step) and 0 or 1
  for _, given in ipairs(replies) do
    if not steps.result(tag, execution, given.step) then new = new + 1 end
  end
  return new > room
end

--- The same call again, after its reply was lost.
local function again(tag, execution, replies)
  local answer = { 'ok', 'suspended', '' }
  for _, given in ipairs(replies) do
    answer[#answer + 1] = tonumber(steps.result(tag, execution, given.step) or 0)
  end
  return answer
end

local function wait_for(tag, id, session, execution, rec, wait, now)
  local known = steps.result(tag, execution, wait.step)
  if known then return 'active', known end
  if wait.person ~= '' then
    conversations.hand_over(tag, id, session, wait.person, wait.why, wait.note, now)
    wait.hold = 'person'
  else
    local found = conversations.find(tag, id, session, execution, rec, wait.step, now)
    if found and rec.rev then needs.turn(tag, execution, rec, now) end
    if found then return 'active', found end
    wait.hold = 'message'
  end
  conversations.park(tag, execution, rec, wait, now)
  return 'suspended', ''
end

local function run(tag, args)
  local execution, fence, replies, step, timeout, kept, person, why, note = unpack(args)
  local now = clock.now(tag)
  replies = cmsgpack.unpack(replies)
  local rec, refusal, found = lease.check(tag, execution, fence, now)
  if not rec then
    local parked = step ~= '' and found and found.fence == fence and found.awaits == step
    if parked and (found.state == 'suspended' or found.state == 'waiting') then
      return again(tag, execution, replies)
    end
    return refusal
  end
  local id = sessions.of(execution)
  local session = rec.session and sessions.read(tag, id)
  if not session then return reply.no('session_not_found', 'id', id or execution) end
  if is_full(tag, execution, replies, step) then
    return reply.no('too_many_steps', 'id', execution, 'limit', steps.MOST)
  end

  local numbers = write_all(tag, id, session, execution, rec, replies, now)
  local answer = { 'ok', 'active', '', unpack(numbers) }
  if step ~= '' then
    local wait = {
      step = step, timeout = tonumber(timeout), kept = kept == '1', person = person, why = why, note = note,
    }
    answer[2], answer[3] = wait_for(tag, id, session, execution, rec, wait, now)
  end
  if #replies > 0 or answer[2] == 'suspended' then sessions.notify(tag, id, now) end
  return answer
end
