--- The timers of a queue. Each names a sorted set of due times; what fires is looked up there. Every
--- call that reads or changes deliveries first fires what is due, so nothing depends on the ticks.
--- @requires lib/core/keys lib/queue/queue lib/queue/messages lib/queue/order lib/queue/groups
--- @requires lib/queue/endings lib/queue/deliveries lib/queue/arrivals lib/queue/outbox
local queue_due = {}

local function lock_expired(q, group, ids)
  for _, id in ipairs(ids) do
    queue_deliveries.expire(q, group, id, queue_deliveries.try(q, group, id))
  end
end

local function retry_due(q, group, ids)
  server.call('ZREM', keys.retry(q.tag, group), unpack(ids))
  local recs = queue_messages.read(q, ids)
  for _, id in ipairs(ids) do queue_order.give_back(q, group, id, recs[id]) end
end

--- Messages of a group expire; those in flight do so when they come back.
local function group_ttl_over(q, group, ids)
  server.call('ZREM', keys.ttl(q.tag, group), unpack(ids))
  local recs = queue_messages.read(q, ids)
  for _, id in ipairs(ids) do
    if not server.call('ZSCORE', keys.flight(q.tag, group), id) then
      queue_endings.retire(q, group, id, recs[id], queue_deliveries.try(q, group, id), 'expired')
    end
  end
end

--- Messages expire that are delayed, or that some group has not come to.
local function ttl_over(q, _, ids)
  server.call('ZREM', keys.ends(q.tag), unpack(ids))
  server.call('ZREM', keys.later(q.tag), unpack(ids))
  local recs = queue_messages.read(q, ids)
  for _, id in ipairs(ids) do
    if q.mode == 'work' then
      queue_messages.forget(q, id)
      queue.count(q, queue.DEFAULT, 'expired')
    else
      queue_groups.expire_arrival(q, id, recs[id])
    end
  end
  queue_messages.save_places(q)
end

local function delay_over(q, _, ids) queue_arrivals.fall_due(q, ids) end

local function forget_seen(q, _, ids)
  server.call('HDEL', keys.seen(q.tag), unpack(ids))
  server.call('ZREM', keys.seen_until(q.tag), unpack(ids))
end

local function forget_settled(q, _, ids) server.call('ZREM', keys.settled(q.tag), unpack(ids)) end

local SETS = {
  flight = { keys.flight, lock_expired },
  retry = { keys.retry, retry_due },
  ttl = { keys.ttl, group_ttl_over },
  later = { keys.later, delay_over },
  ends = { keys.ends, ttl_over },
  seen = { keys.seen_until, forget_seen },
  settled = { keys.settled, forget_settled },
}

--- Fire up to `limit` of one timer, and set it again.
local function fire_set(q, member, limit)
  local name, group = member:match('^(%a+)|?(.*)$')
  local key, act = SETS[name][1](q.tag, group), SETS[name][2]
  local ids = server.call('ZRANGE', key, '-inf', q.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #ids > 0 then act(q, group, ids) end
  queue.flush(q)
  local next_due = server.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if next_due then
    server.call('ZADD', keys.timers(q.tag), next_due, member)
  else
    server.call('ZREM', keys.timers(q.tag), member)
  end
  return #ids
end

local function fire_one(q, member, limit)
  local timers = keys.timers(q.tag)
  if member == 'outbox' then
    -- Lua cannot deliver to other tags: the reply asks the caller to do it.
    q.unsent = true
    server.call('ZADD', timers, q.now + queue_outbox.AGAIN_MS, member)
    return 1
  elseif member == 'sweep' then
    local looked = queue_groups.sweep(q)
    if server.call('EXISTS', keys.sweeps(q.tag)) == 0 then server.call('ZREM', timers, member) end
    return looked
  end
  return fire_set(q, member, limit)
end

-- What fires may set timers that are due as well, such as the end of a message that just arrived.
local ROUNDS = 3

--- Fire due timers, at most about `limit` of them; how many fired.
function queue_due.fire(q, limit)
  local fired = 0
  for _ = 1, ROUNDS do
    local members = server.call('ZRANGE', keys.timers(q.tag), '-inf', q.now, 'BYSCORE', 'LIMIT', 0, limit)
    for _, member in ipairs(members) do
      if fired >= limit then return fired end
      fired = fired + fire_one(q, member, limit - fired)
    end
    if #members == 0 then break end
  end
  return fired
end
