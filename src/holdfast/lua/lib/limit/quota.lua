--- A quota caps how many executions run at once (`slots`) and how many start in a sliding window
--- (`most` in `window` ms). It knows who holds a slot, by which epoch; every start in the window;
--- who waits, in order; and whom it has promised room. A promise counts like a holder until it is
--- used or expires, so the longest waiting is served first and one wake-up is sent for each slot.
--- While it lasts, the epoch since which its execution waited is kept: a release of an earlier grant
--- may come late or again, and does not concern it.
--- @requires lib/core/keys lib/core/timers lib/limit/waiters lib/limit/outbox
local quota = {}

local PROMISE_MS = 10000
-- Longer than a call that was sent can be on its way.
local VOID_MS = 3600000
-- Values in a call; Lua cannot pass many more.
local MOST_VALUES = 1000

--- The id of the definition that `name` counts under.
function quota.id(name) return name:match('^[^#]+') end

--- The quota `name` as it is now, or nil if there is none (any more): then it limits nothing. What it gives
--- out in one call is written by `close`.
function quota.open(tag, name, now)
  local def = server.call('HMGET', keys.quota(tag, quota.id(name)), 'born', 'window', 'most', 'slots')
  if not def[1] then return nil end
  local q = { name = name, window = tonumber(def[2]), most = tonumber(def[3]), slots = tonumber(def[4]) }
  if q.most then
    local key = keys.admissions(tag, name)
    server.call('ZREMRANGEBYSCORE', key, '-inf', now - q.window)
    q.started, q.at = server.call('ZCARD', key), tostring(now)
  end
  q.running = server.call('HLEN', keys.holders(tag, name))
  q.promised = server.call('ZCARD', keys.promises(tag, name))
  q.waiting = waiters.count(tag, name)
  q.held, q.starts, q.size = {}, {}, 0
  return q
end

--- How many more may be admitted or promised room now; `own` is a slot that would be given up.
function quota.room(q, own)
  local slots = q.slots and q.slots - q.running + (own or 0) or math.huge
  local starts = q.most and q.most - q.started or math.huge
  return math.min(slots, starts) - q.promised
end

--- When something changes by itself: a promise runs out, or a start leaves the window.
local function next_change(tag, q)
  local at = math.huge
  if q.promised > 0 then
    at = tonumber(server.call('ZRANGE', keys.promises(tag, q.name), 0, 0, 'WITHSCORES')[2])
  end
  if q.waiting > 0 and q.most and q.started >= q.most then at = math.min(at, quota.retry_at(tag, q) or at) end
  return at
end

--- When the oldest start leaves the window, if that is what is waited for.
function quota.retry_at(tag, q)
  if not q.most or q.started < q.most then return nil end
  local oldest = server.call('ZRANGE', keys.admissions(tag, q.name), 0, 0, 'WITHSCORES')[2]
  -- All starts may be of this very call.
  return (tonumber(oldest) or q.now) + q.window
end

--- End the promise to an execution; returns how many there were: 1 or 0.
function quota.withdraw(tag, name, execution)
  local ended = server.call('ZREM', keys.promises(tag, name), execution)
  if ended == 1 then waiters.forget(tag, name, execution) end
  return ended
end

--- Promise room to the executions that have waited longest, and wake them.
function quota.promote(tag, q, now)
  local count = math.min(quota.room(q), q.waiting)
  if count <= 0 then return end
  for _, execution in ipairs(waiters.call(tag, q.name, math.min(count, 1000))) do
    server.call('ZADD', keys.promises(tag, q.name), now + PROMISE_MS, execution)
    outbox.put(tag, now, 'w', execution, 'q:' .. q.name)
    q.promised, q.waiting = q.promised + 1, q.waiting - 1
  end
  if q.waiting == 0 then server.call('SREM', keys.quota_queues(tag, quota.id(q.name)), q.name) end
end

--- The starts of one value of a tag are forgotten when nothing of it starts any more.
function quota.keep_starts(tag, name, window)
  server.call('PEXPIRE', keys.admissions(tag, name), window + 60000)
end

--- Write what was taken, and set the timer.
function quota.close(tag, q, now)
  if q.size > 0 then server.call('HSET', keys.holders(tag, q.name), unpack(q.held)) end
  if q.size > 0 and q.most then server.call('ZADD', keys.admissions(tag, q.name), unpack(q.starts)) end
  -- Also after a refusal: the window may be longer than at the last start.
  if q.most and q.started > 0 then quota.keep_starts(tag, q.name, q.window) end
  quota.arm(tag, q, now)
end

function quota.arm(tag, q, now)
  local at = next_change(tag, q)
  if at < math.huge then
    timers.set(tag, 'q:' .. q.name, at, now)
  else
    server.call('ZREM', keys.timers(tag), 'q:' .. q.name)
  end
end

--- Give back what executions that ran were admitted to, once; `given` is a flat list of executions and
--- epochs.
function quota.release_many(tag, name, given)
  local holders = keys.holders(tag, name)
  for first = 1, #given, 2 * MOST_VALUES do
    local asked, over = {}, {}
    for i = first, math.min(first + 2 * MOST_VALUES, #given) - 1, 2 do asked[#asked + 1] = given[i] end
    for i, epoch in ipairs(server.call('HMGET', holders, unpack(asked))) do
      if epoch == given[first + 2 * i - 1] then over[#over + 1] = asked[i] end
    end
    if #over > 0 then server.call('HDEL', holders, unpack(over)) end
  end
end

--- The same for one that did not run, or `may_have_run`: an admission that comes later than this is void. The
--- start of one that did not run does not count.
function quota.revoke(tag, name, execution, epoch, may_have_run)
  local holders = keys.holders(tag, name)
  if server.call('HGET', holders, execution) == epoch then
    server.call('HDEL', holders, execution)
    if not may_have_run then server.call('ZREM', keys.admissions(tag, name), execution .. ':' .. epoch) end
  end
  server.call('SET', keys.void(tag, execution, epoch), '1', 'PX', VOID_MS)
  if waiters.drop(tag, name, execution, epoch) then server.call('ZREM', keys.promises(tag, name), execution) end
end

--- Time has passed, slots were given back, or the definition has changed: give out what is free.
function quota.settle(tag, name, now)
  for _, execution in ipairs(server.call('ZRANGEBYSCORE', keys.promises(tag, name), '-inf', now)) do
    quota.withdraw(tag, name, execution)
  end
  local q = quota.open(tag, name, now)
  if not q then
    -- Nothing would look at its other promises again.
    for _, execution in ipairs(server.call('ZRANGE', keys.promises(tag, name), 0, -1)) do
      quota.withdraw(tag, name, execution)
    end
    server.call('ZREM', keys.timers(tag), 'q:' .. name)
    return
  end
  if q.waiting > 0 then quota.promote(tag, q, now) end
  quota.arm(tag, q, now)
end

--- The quota is gone: release the executions that wait for it. Returns whether some still wait.
function quota.dissolve(tag, id, now)
  local left = 1000
  for _, name in ipairs(server.call('SMEMBERS', keys.quota_queues(tag, id))) do
    for _, execution in ipairs(waiters.pop(tag, name, left)) do
      outbox.put(tag, now, 'w', execution, 'q:' .. name)
      left = left - 1
    end
    if waiters.count(tag, name) == 0 then server.call('SREM', keys.quota_queues(tag, id), name) end
    if left == 0 then return true end
  end
  return false
end
