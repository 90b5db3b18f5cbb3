--- Fire the due timers of a queue. Any process may call it at any time.
--- @key tag the queue
--- @arg limit how many things at most
--- @ok FIRED SLEEP_MS until the next look; 0 when more is due now, UNSENT 1 if something is owed to others
--- @no queue_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/due

local function run(tag, args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  local fired = queue_due.fire(q, tonumber(args[1]))
  local wake_at = math.min(queue.next_due(q) or math.huge, q.now + queue.LONGEST_SLEEP_MS)
  q.tick = nil
  server.call('HSET', keys.queue(tag), 'tick_at', wake_at)
  queue.close(q)
  return { 'ok', fired, math.max(0, wake_at - q.now), q.unsent and 1 or 0 }
end
