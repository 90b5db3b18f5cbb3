--- The one timer set of a partition: members by due time in ms. An execution has at most one
--- timer, `x:ID`, set to the first of its due times; what fires looks up which of them it was.
--- @requires lib/keys lib/record lib/wake
local timers = {}

--- The maintenance loop looks at least this often, so only nearer timers need to wake it.
timers.LONGEST_SLEEP_MS = 1000

function timers.set(tag, member, due, now)
  server.call('ZADD', keys.timers(tag), due, member)
  if due - now >= timers.LONGEST_SLEEP_MS then return end
  local planned = tonumber(server.call('HGET', keys.meta(tag), 'tick_at') or 0)
  if planned > now and due < planned then
    server.call('HSET', keys.meta(tag), 'tick_at', due)
    wake.ticker(tag)
  end
end

local function first(...)
  local least
  for i = 1, select('#', ...) do
    local due = tonumber((select(i, ...)))
    if due and (not least or due < least) then least = due end
  end
  return least
end

--- When something is next due for this execution, or nil.
function timers.due(rec)
  if record.is_terminal(rec.state) then return tonumber(rec.forget_at) end
  if rec.state == 'active' then return first(rec.lease_until, rec.timeout_at, rec.deadline) end
  if rec.state == 'delayed' then return first(rec.run_at, rec.deadline) end
  return tonumber(rec.deadline)
end

--- Set or clear the execution's timer after any change of its record.
function timers.arm(tag, id, rec, now)
  local due = timers.due(rec)
  if due then
    timers.set(tag, 'x:' .. id, due, now)
  else
    server.call('ZREM', keys.timers(tag), 'x:' .. id)
  end
end
