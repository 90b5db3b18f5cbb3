--- Groups of a FANOUT queue. A push writes a message once for any number of groups: into
--- `arrivals`, by position. A group has a cursor; what is behind it the group has taken in, which
--- `holds` counts per message. A message is removed when no cursor is before it and no group holds it.
---
--- Messages that expire before a group has come to them go from `arrivals` to `gone`, where the
--- group finds their number.
--- @requires lib/core/keys lib/queue/queue lib/queue/messages lib/queue/order
local queue_groups = {}

--- How many are taken in at once where the order of arrival is not the order of reading.
local MIXED = 1000
local SWEEP = 500

function queue_groups.cursor(q, group) return server.call('ZSCORE', keys.groups(q.tag), group) end

--- Whether a group has yet to come to a position.
local function is_awaited(q, position)
  return server.call('ZCOUNT', keys.groups(q.tag), '-inf', '(' .. string.format('%.0f', position)) > 0
end

--- Remove a message that no group holds, if every cursor has passed it.
local function collect(q, id, rec)
  local listed = server.call('ZSCORE', keys.arrivals(q.tag), id)
  if listed and is_awaited(q, rec.position) then return end
  server.call('ZREM', keys.arrivals(q.tag), id)
  server.call('ZREM', keys.ends(q.tag), id)
  queue_messages.forget(q, id)
  queue.count(q, '', queue_messages.is_over(q, rec) and 'expired' or 'collected')
end

--- A group is done with a message.
function queue_groups.release(q, id, rec)
  local holds = keys.holds(q.tag)
  if server.call('HINCRBY', holds, id, -1) > 0 then return end
  server.call('HDEL', holds, id)
  collect(q, id, rec)
end

--- Have a group hold messages; `many` is a list of { id, rec }.
function queue_groups.hold(q, group, many)
  for _, one in ipairs(many) do
    local id, rec = one[1], one[2]
    if q.mode ~= 'work' then server.call('HINCRBY', keys.holds(q.tag), id, 1) end
    if rec.ends then
      server.call('ZADD', keys.ttl(q.tag, group), rec.ends, id)
      queue.arm(q, 'ttl|' .. group, rec.ends)
    end
  end
  queue_order.enter(q, group, many)
end

--- Move a cursor on; what expired on the way is counted.
local function advance(q, group, from, to)
  server.call('ZADD', keys.groups(q.tag), to, group)
  local gone = keys.gone(q.tag)
  if server.call('EXISTS', gone) == 0 then return end
  queue.count(q, group, 'expired', server.call('ZCOUNT', gone, '(' .. from, to))
  local least = server.call('ZRANGE', keys.groups(q.tag), 0, 0, 'WITHSCORES')[2]
  server.call('ZREMRANGEBYSCORE', gone, '-inf', least)
end

--- Whether a group has yet to take in arrivals.
function queue_groups.is_behind(q, group)
  return server.call('ZCOUNT', keys.arrivals(q.tag), '(' .. queue_groups.cursor(q, group), '+inf') > 0
end

--- Take in up to `count` arrivals, or more where ranks differ from positions. Whether there are more.
function queue_groups.take_in(q, group, count)
  if q.mode == 'work' then return false end
  if q.mixed == '1' then count = MIXED end
  local cursor = queue_groups.cursor(q, group)
  local rows = server.call(
    'ZRANGE', keys.arrivals(q.tag), '(' .. cursor, '+inf', 'BYSCORE', 'LIMIT', 0, count, 'WITHSCORES'
  )
  if #rows == 0 then return false end
  local ids, taken = {}, {}
  for i = 1, #rows, 2 do ids[#ids + 1] = rows[i] end
  local recs = queue_messages.read(q, ids)
  for _, id in ipairs(ids) do
    local rec = recs[id]
    if queue_messages.is_over(q, rec) then
      queue.count(q, group, 'expired')
    else
      taken[#taken + 1] = { id, rec }
    end
  end
  queue_groups.hold(q, group, taken)
  advance(q, group, cursor, rows[#rows])
  return #ids == count
end

--- A message expired before some group came to it.
function queue_groups.expire_arrival(q, id, rec)
  if not rec.position then queue_messages.place(q, rec) end
  if is_awaited(q, rec.position) then
    -- By position: another message can have this id, and expire, before the group comes to the first.
    server.call('ZADD', keys.gone(q.tag), rec.position, string.format('%.0f', rec.position))
  end
  server.call('ZREM', keys.arrivals(q.tag), id)
  if server.call('HEXISTS', keys.holds(q.tag), id) == 0 then
    queue_messages.forget(q, id)
    queue.count(q, '', 'expired')
  end
end

--- Remember that what only a former group would have read can go, after `from` and up to `to`.
function queue_groups.plan_sweep(q, from, to)
  server.call('ZADD', keys.sweeps(q.tag), 'LT', from, to)
  queue.arm(q, 'sweep', q.now)
end

--- Collect some of it; how many were looked at.
function queue_groups.sweep(q)
  local plan = server.call('ZRANGE', keys.sweeps(q.tag), 0, 0, 'WITHSCORES')
  if not plan[1] then return 0 end
  local rows = server.call(
    'ZRANGE', keys.arrivals(q.tag), '(' .. plan[2], plan[1], 'BYSCORE', 'LIMIT', 0, SWEEP, 'WITHSCORES'
  )
  for i = 1, #rows, 2 do
    if server.call('HEXISTS', keys.holds(q.tag), rows[i]) == 0 then
      collect(q, rows[i], queue_messages.read_one(q, rows[i]))
    end
  end
  if #rows < 2 * SWEEP then
    server.call('ZREM', keys.sweeps(q.tag), plan[1])
  else
    server.call('ZADD', keys.sweeps(q.tag), rows[#rows], plan[1])
  end
  return #rows / 2
end
