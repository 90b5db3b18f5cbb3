--- The one timer set of a partition: members by due time in ms. An execution has at most one
--- timer, `x:ID`, set to the first of its due times; the handler looks up which of them it was.
--- @requires lib/core/keys lib/core/record lib/core/wake
local timers = {}

--- The ticker looks at least this often, so only nearer timers need to wake it.
timers.LONGEST_SLEEP_MS = 1000

local function wake_if_near(tag, due, now)
  if due - now >= timers.LONGEST_SLEEP_MS then return end
  local planned = tonumber(server.call('HGET', keys.meta(tag), 'tick_at') or 0)
  if planned > now and due < planned then
    server.call('HSET', keys.meta(tag), 'tick_at', due)
    wake.ticker(tag)
  end
end

function timers.set(tag, member, due, now)
  server.call('ZADD', keys.timers(tag), due, member)
  wake_if_near(tag, due, now)
end

--- The earlier of two times, of which any may be missing.
local function earlier(a, b)
  if not (a and b) then return tonumber(a or b) end
  return math.min(a, b)
end

--- The next due time of this execution, or nil.
function timers.due(rec)
  if record.is_terminal(rec.state) then return tonumber(rec.due) end
  local due = earlier(rec.due, rec.deadline)
  return rec.state == 'active' and earlier(due, rec.timeout_at) or due
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

--- Set the timers of a cohort to the same time.
function timers.arm_cohort(tag, cohort, due, now)
  local scored, ids, score = {}, cohort.ids, tostring(due)
  for i = 1, cohort.size do
    scored[2 * i - 1] = score
    scored[2 * i] = 'x:' .. ids[i]
  end
  server.call('ZADD', keys.timers(tag), unpack(scored))
  wake_if_near(tag, due, now)
end

--- Set the timers of several that all have something due; `many` is a list of { id, rec }.
function timers.arm_many(tag, many, now)
  local scored, nearest = {}, math.huge
  for _, one in ipairs(many) do
    local due = timers.due(one[2])
    scored[#scored + 1] = due
    scored[#scored + 1] = 'x:' .. one[1]
    nearest = math.min(nearest, due)
  end
  server.call('ZADD', keys.timers(tag), unpack(scored))
  wake_if_near(tag, nearest, now)
end
