--- Remove a group of a FANOUT queue. Messages that only it had yet to retire are collected.
--- @key tag the queue
--- @arg group @arg request id of this call; repeated, it gets the first answer
--- @ok removed
--- @no queue_not_found | group_not_found | queue_conflict
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/groups lib/queue/messages lib/queue/clearing
--- @requires lib/queue/deliveries lib/queue/memory lib/core/reply

-- What the group holds is released in steps, each with a list of ids.
local STEP = 1000

local function release_all(q, key)
  for first = 0, server.call('ZCARD', key) - 1, STEP do
    local ids = server.call('ZRANGE', key, first, first + STEP - 1)
    local recs = queue_messages.read(q, ids)
    for _, id in ipairs(ids) do queue_groups.release(q, id, recs[id]) end
    queue.close(q)
  end
end

local function run(tag, args)
  if queue_memory.recall(tag, args[2]) then return { 'ok', 'removed' } end
  local q, group = queue.open_group(tag, args[1])
  if not q then return group end
  if q.mode == 'work' then return reply.no('queue_conflict', 'mode', q.mode, 'queue', queue.name(tag)) end
  local cursor = queue_groups.cursor(q, group)
  server.call('ZREM', keys.groups(tag), group)
  for _, name in ipairs({ 'open', 'blocked', 'flight', 'retry' }) do release_all(q, keys[name](tag, group)) end
  for i, packed in ipairs(server.call('HVALS', keys.tries(tag, group))) do
    local handle = queue_deliveries.decode_try(packed).handle
    if handle then queue.collect(q, 'HDEL', keys.handles(tag), handle) end
    if i % STEP == 0 then queue.flush(q) end
  end
  queue_clearing.group(tag, group)
  server.call('UNLINK', keys.tally(tag, group))
  server.call('HDEL', keys.queue(tag), 'paused|' .. group)
  for _, timer in ipairs({ 'flight|', 'retry|', 'ttl|' }) do
    server.call('ZREM', keys.timers(tag), timer .. group)
  end
  local least = server.call('ZRANGE', keys.groups(tag), 0, 0, 'WITHSCORES')[2]
  queue_groups.plan_sweep(q, cursor, least or q.stamp)
  queue_groups.sweep(q)
  queue_memory.keep(tag, args[2], 'removed')
  q.ready = true
  queue.close(q)
  return { 'ok', 'removed' }
end
