--- How messages come into a queue: pushed, forwarded by another queue, or due after a delay.
--- @requires lib/core/keys lib/queue/queue lib/queue/messages lib/queue/groups
local queue_arrivals = {}

--- Let messages arrive; `many` is a list of { id, rec }, which have no place yet.
local function arrive(q, many)
  local log, own = {}, {}
  for _, one in ipairs(many) do
    local id, rec = one[1], one[2]
    queue_messages.place(q, rec)
    if q.mode == 'work' then
      own[#own + 1] = one
    elseif rec.only then
      -- What the group has yet to take in comes first.
      if queue_groups.is_behind(q, rec.only) then q.mixed = '1' end
      queue_groups.hold(q, rec.only, { one })
    else
      log[#log + 1] = rec.position
      log[#log + 1] = id
      if rec.ends then
        server.call('ZADD', keys.ends(q.tag), rec.ends, id)
        queue.arm(q, 'ends', rec.ends)
      end
    end
  end
  if #own > 0 then queue_groups.hold(q, queue.DEFAULT, own) end
  if #log > 0 then
    server.call('ZADD', keys.arrivals(q.tag), unpack(log))
    q.ready = true
  end
  queue_messages.write(q, many)
  queue_messages.save_places(q)
end

--- When a message expires: by its own time, by what a move has left of it, or by the queue's. Of a
--- dead-letter queue only by its own.
local function ends_of(q, item)
  if item.ttl then return q.now + item.ttl end
  if q.dlq then return nil end
  return item.ends or (q.ttl and q.now + q.ttl)
end

local function record_of(q, item)
  local rec = { born = q.now, key = item.key, digest = item.digest, letter = item.letter, side = item.side }
  if item.priority and item.priority ~= 0 then rec.priority = item.priority end
  local only = q.mode ~= 'work' and item.only
  if only and server.call('ZSCORE', keys.groups(q.tag), only) then rec.only = only end
  rec.ends = ends_of(q, item)
  return rec
end

--- Put a message aside until it is due.
local function postpone(q, id, rec, delay)
  server.call('ZADD', keys.later(q.tag), q.now + delay, id)
  queue.arm(q, 'later', q.now + delay)
  if rec.ends then
    server.call('ZADD', keys.ends(q.tag), rec.ends, id)
    queue.arm(q, 'ends', rec.ends)
  end
end

--- Store new messages; each item has id and body, and may have key, priority, side, delay, ttl,
--- ends, letter, only, digest.
function queue_arrivals.add(q, items)
  local now, later, bodies = {}, {}, {}
  for _, item in ipairs(items) do
    local rec = record_of(q, item)
    bodies[#bodies + 1] = item.id
    bodies[#bodies + 1] = item.body
    if item.delay and item.delay > 0 then
      later[#later + 1] = { item.id, rec }
      postpone(q, item.id, rec, item.delay)
    else
      now[#now + 1] = { item.id, rec }
    end
    queue.count(q, '', 'pushed')
    if rec.only then
      queue.count(q, '', 'addressed')
      queue.count(q, rec.only, 'extra')
    end
  end
  if #bodies == 0 then return end
  server.call('HSET', keys.bodies(q.tag), unpack(bodies))
  queue_messages.write(q, later)
  if #now > 0 then arrive(q, now) end
end

--- Delayed messages are due.
function queue_arrivals.fall_due(q, ids)
  local many, recs = {}, queue_messages.read(q, ids)
  for i, id in ipairs(ids) do many[i] = { id, recs[id] } end
  server.call('ZREM', keys.later(q.tag), unpack(ids))
  server.call('ZREM', keys.ends(q.tag), unpack(ids))
  arrive(q, many)
end
