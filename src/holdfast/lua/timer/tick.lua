--- Fire due timers. Any process may call it at any time.
--- @key tag the partition
--- @arg limit how many timers at most
--- @ok FIRED SLEEP_MS until the next look; 0 when more is due now
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/execution/due lib/core/timers lib/admin/workers
--- @requires lib/waitpoint/waitpoints lib/graph/due lib/admin/schedules lib/limit/quota lib/limit/budget
--- @requires lib/limit/reserving lib/admin/api_keys lib/stream/feed lib/session/sessions
--- @requires lib/execution/bonds lib/thread/threads lib/memory/memories

local FIRE = {
  x = due.execution,
  k = workers.expire,
  w = waitpoints.expire,
  g = graph_due.fire,
  s = schedules.ring,
  q = quota.settle,
  b = budget.due,
  v = reserving.expire,
  a = access.forget,
  f = feed.expire,
  c = sessions.expire,
  o = bonds.fire,
  t = threads.remove,
  m = memories.expire,
}

-- Some firings do the work of many and report how much; this bounds the work of one call.
local MOST_COST = 500

local function run(tag, args)
  local now = clock.now(tag)
  local key = keys.timers(tag)
  local members = server.call('ZRANGE', key, '-inf', now, 'BYSCORE', 'LIMIT', 0, args[1])
  local fired, cost = 0, 0
  for _, member in ipairs(members) do
    if cost >= MOST_COST then break end
    local spent = FIRE[member:sub(1, 1)](tag, member:sub(3), now)
    cost = cost + (tonumber(spent) or 1)
    fired = fired + 1
  end
  local first = server.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  local wake_at = math.min(tonumber(first or math.huge), now + timers.LONGEST_SLEEP_MS)
  server.call('HSET', keys.meta(tag), 'tick_at', wake_at)
  return { 'ok', fired, math.max(0, wake_at - now) }
end
