--- Deliveries of a group that are in flight, by deadline; their handles stay with their consumers.
--- @key tag the queue
--- @arg group, may be empty on a WORK queue @arg offset @arg limit
--- @ok per delivery: id, key, consumer, attempt, at, deadline
--- @no queue_not_found | group_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/queue/queue lib/queue/deliveries lib/queue/messages

local function run(tag, args)
  local name, offset, limit = unpack(args)
  local q, group = queue.open_group(tag, name)
  if not q then return group end
  local ids = server.call(
    'ZRANGE', keys.flight(tag, group), '(' .. q.now, '+inf', 'BYSCORE', 'LIMIT', offset, limit
  )
  local rows = { 'ok' }
  for _, id in ipairs(ids) do
    local try = queue_deliveries.try(q, group, id)
    local rec = queue_messages.read_one(q, id)
    rows[#rows + 1] = { id, rec.key or '', try.consumer, try.n, try.at, try.due }
  end
  return rows
end
