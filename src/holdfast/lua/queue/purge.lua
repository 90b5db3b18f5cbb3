--- Remove all messages of a queue, those in flight too, at once. The definition and the groups stay;
--- every handle is stale from now on.
--- @key tag the queue
--- @arg request id of this call; repeated, it gets the first answer
--- @ok PURGED
--- @no queue_not_found
--- @flags allow-oom
--- @requires lib/queue/queue lib/queue/clearing lib/queue/memory

local function run(tag, args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  local known = queue_memory.recall(tag, args[1])
  if known then return { 'ok', known } end
  local purged = queue_clearing.messages(q)
  queue_memory.keep(tag, args[1], purged)
  q.ready = true
  queue.close(q)
  return { 'ok', purged }
end
