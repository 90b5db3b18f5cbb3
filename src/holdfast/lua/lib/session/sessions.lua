--- The record of a session, a hash:
---   tenant, env, endpoint, conversation, user   its key, which its id is made of
---   kind = the conversation that answers   busy, apology = how that treats messages and failures
---   sender = who delivers replies; absent: readers fetch them
---   born   base, last = the transcript holds the entries from base + 1 to last
---   n = executions that were started   cur = the number of the one that has not ended
---   rev = the revision of the last one, if it needed one
---   turn = the last message that was received   streamed = replies that are not complete yet
---   person = who answers instead of the conversation   why = the reason for that
---   handed = the last entry before that   sent, tries, fence = see lib/session/outgoing.lua
---   values = the highest version of a value of its state that was removed
--- @requires lib/core/keys lib/core/record lib/core/settings lib/core/timers lib/core/wake lib/session/users
--- @requires lib/session/dead lib/stream/feed
local sessions = {}

-- A process that listens says so again long before this has passed.
local LISTEN_MS, MOST_LISTENERS = 60000, 1000

local MOST_LOOKED, DAY_MS = 100, 86400000

--- All fields, or nil if there is no such session.
function sessions.read(tag, id)
  local flat = server.call('HGETALL', keys.session(tag, id))
  if #flat == 0 then return nil end
  local session = {}
  for i = 1, #flat, 2 do session[flat[i]] = flat[i + 1] end
  return session
end

--- Write `changes` (name, value pairs) to the store and to `session`.
function sessions.write(tag, id, session, changes)
  server.call('HSET', keys.session(tag, id), unpack(changes))
  for i = 1, #changes, 2 do session[changes[i]] = tostring(changes[i + 1]) end
end

--- Remove those of `names` that `session` has.
function sessions.clear(tag, id, session, names)
  local present = {}
  for _, name in ipairs(names) do
    if session[name] then
      present[#present + 1] = name
      session[name] = nil
    end
  end
  if #present > 0 then server.call('HDEL', keys.session(tag, id), unpack(present)) end
end

--- Add a number to those that a field lists.
function sessions.add_to(tag, id, session, field, number)
  sessions.write(tag, id, session, { field, session[field] and session[field] .. ' ' .. number or number })
end

--- Whether a field lists a number.
function sessions.lists(session, field, number)
  return (' ' .. (session[field] or '') .. ' '):find(' ' .. number .. ' ', 1, true) ~= nil
end

--- Remove a number from those that a field lists.
function sessions.remove_from(tag, id, session, field, number)
  if not session[field] then return end
  local left = {}
  for other in session[field]:gmatch('%d+') do
    if tonumber(other) ~= tonumber(number) then left[#left + 1] = other end
  end
  if #left == 0 then
    sessions.clear(tag, id, session, { field })
  else
    sessions.write(tag, id, session, { field, table.concat(left, ' ') })
  end
end

--- The session of an execution, and which of its executions that is.
function sessions.of(execution_id)
  local id, number = execution_id:match('^(.+)~(%d+)$')
  return id, number
end

--- The id of the execution that has not ended, or nil.
function sessions.current(id, session) return session.cur and id .. '~' .. session.cur end

--- How many executions were started, before this session began also.
function sessions.started(tag, id, session)
  return tonumber(session.n or server.call('GET', keys.session_numbers(tag, id)) or 0)
end

local function keep_ms(tag, session) return settings.keep(tag, session.tenant, 'session') end

--- Note that something was written now; sessions are listed by this.
function sessions.touch(tag, id, session, now)
  users.touch(tag, id, session, now)
  if server.call('ZADD', keys.sessions(tag, session.tenant), now, id) == 1 then
    server.call('SADD', keys.session_tenants(tag), session.tenant)
  end
  feed.noted(tag, session.tenant, 'session', id, 'changed')
end

--- Nothing runs any more: the session is removed if nothing is written for long. One whose conversation
--- waits has no timer, so it costs nothing but memory.
function sessions.rest(tag, id, session, now)
  timers.set(tag, 'c:' .. id, now + keep_ms(tag, session), now)
end

--- Notify every process that reads live, but not the one that knows.
function sessions.notify(tag, id, now, knowing)
  local key = keys.listeners(tag, id)
  for _, process in ipairs(server.call('ZRANGE', key, now, '+inf', 'BYSCORE', 'LIMIT', 0, MOST_LISTENERS)) do
    if process ~= knowing then wake.process(tag, process, 'session ' .. id) end
  end
end

--- Notify a process of changes for a while.
function sessions.listen(tag, id, process, now)
  local key = keys.listeners(tag, id)
  server.call('ZREMRANGEBYSCORE', key, '-inf', now)
  server.call('ZADD', key, now + LISTEN_MS, process)
  server.call('PEXPIRE', key, LISTEN_MS)
end

--- Remove everything that a session owns but its executions.
function sessions.forget(tag, id, session, now)
  if session.sender then server.call('ZREM', keys.outgoing(tag, session.sender), id) end
  local listed = keys.sessions(tag, session.tenant)
  server.call('ZREM', listed, id)
  users.leave(tag, id, session)
  if server.call('EXISTS', listed) == 0 then
    server.call('SREM', keys.session_tenants(tag), session.tenant)
  end
  server.call('ZREM', keys.timers(tag), 'c:' .. id)
  dead.forget(tag, id, session)
  sessions.notify(tag, id, now)
  feed.noted(tag, session.tenant, 'session', id, 'removed')
  server.call(
    'UNLINK', keys.session(tag, id), keys.transcript(tag, id), keys.activities(tag, id),
    keys.buffered(tag, id), keys.session_state(tag, id), keys.dead_replies(tag, id), keys.listeners(tag, id),
    keys.session_numbers(tag, id)
  )
end

-- Executions may outlive their session: while they may be there, a new one of the same key continues
-- their numbers, so that its erasure finds them. Returns how many were looked at.
local function leave_numbers(tag, id, tenant, number, now)
  local until_ms
  local first = math.max(1, number - MOST_LOOKED + 1)
  for n = number, first, -1 do
    local state, due = unpack(record.get(tag, id .. '~' .. n, 'state', 'due'))
    -- One that the archive must take first has no such time.
    if state then until_ms = math.max(until_ms or now, tonumber(due or now + 30 * DAY_MS)) end
  end
  -- Those before are too many to look at, so they may be there for as long as any is kept.
  if number > MOST_LOOKED then until_ms = math.max(until_ms or now, now + settings.longest(tag, tenant)) end
  if until_ms then
    server.call('SET', keys.session_numbers(tag, id), number, 'PX', ('%d'):format(until_ms - now + DAY_MS))
  end
  return number - first + 1
end

--- The timer of a session fired: it is removed if nothing was written for long and nothing runs. Returns the
--- amount of work done.
function sessions.expire(tag, id, now)
  local session = sessions.read(tag, id)
  if not session then
    server.call('ZREM', keys.timers(tag), 'c:' .. id)
    return 1
  end
  local active = tonumber(server.call('ZSCORE', keys.sessions(tag, session.tenant), id))
  local due = active + keep_ms(tag, session)
  if session.cur then
    server.call('ZREM', keys.timers(tag), 'c:' .. id)
  elseif due <= now then
    local number = sessions.started(tag, id, session)
    sessions.forget(tag, id, session, now)
    return 1 + leave_numbers(tag, id, session.tenant, number, now)
  else
    timers.set(tag, 'c:' .. id, due, now)
  end
  return 1
end
