--- Pause or resume a queue, or one of its groups. Paused, nothing is handed out.
--- @key tag the queue
--- @arg group, or empty for the whole queue @arg paused 1 or 0
--- @ok
--- @no queue_not_found | group_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue

local function run(tag, args)
  local name, paused = unpack(args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  if name ~= '' then
    name, refusal = queue.group(q, name)
    if not name then return refusal end
  end
  -- The one group of a work queue is the queue.
  if q.mode == 'work' then name = '' end
  if paused == '1' then
    server.call('HSET', keys.queue(tag), 'paused|' .. name, '1')
  else
    server.call('HDEL', keys.queue(tag), 'paused|' .. name)
    q.ready = true
  end
  queue.close(q)
  return { 'ok' }
end
