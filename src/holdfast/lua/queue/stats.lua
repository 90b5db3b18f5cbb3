--- The counts of a queue and its groups, after firing due timers.
--- @key tag the queue
--- @arg group only this one, or empty
--- @ok UNSENT 1 if something is owed to others, MODE, OWED how much, COUNTS of the queue as name, value pairs,
--- @ok then per group its name and its counts
--- @no queue_not_found | group_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/queue/queue lib/queue/due lib/queue/counts lib/queue/outbox

local function run(tag, args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  local groups = { args[1] }
  if args[1] == '' then
    groups = server.call('ZRANGE', keys.groups(tag), 0, -1)
  else
    groups[1], refusal = queue.group(q, args[1])
    if not groups[1] then return refusal end
  end
  queue_due.fire(q, 1000)
  queue.close(q)
  local found = {
    'ok', q.unsent and 1 or 0, q.mode, queue_outbox.size(q), queue_counts.of_queue(q),
  }
  for _, group in ipairs(groups) do
    found[#found + 1] = group
    found[#found + 1] = queue_counts.of_group(q, group)
  end
  return found
end
