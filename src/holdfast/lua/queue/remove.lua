--- Remove a queue with all its data. Its outbox must be delivered first.
--- @key tag the queue
--- @arg request id of this call; repeated, it gets the first answer
--- @ok removed @ok owing, and nothing is removed
--- @no queue_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/outbox lib/queue/clearing lib/queue/memory

local OWN = {
  'queue', 'groups', 'settled', 'seen', 'seen_until', 'dropped', 'sent', 'inbox', 'timers',
}

local function run(tag, args)
  if queue_memory.recall(tag, args[1]) then return { 'ok', 'removed' } end
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  if queue_outbox.size(q) > 0 then return { 'ok', 'owing' } end
  local groups = server.call('ZRANGE', keys.groups(tag), 0, -1)
  queue_clearing.messages(q)
  for _, group in ipairs(groups) do server.call('UNLINK', keys.tally(tag, group)) end
  server.call('UNLINK', keys.tally(tag, ''))
  for _, name in ipairs(OWN) do server.call('UNLINK', keys[name](tag)) end
  queue_memory.keep(tag, args[1], 'removed')
  q.counts, q.ready = {}, true
  queue.close(q)
  return { 'ok', 'removed' }
end
