--- Extend the locks of deliveries independently, counted from now.
--- @key tag the queue
--- @arg items per item two values: handle, ms or empty for the queue's lock time
--- @ok UNSENT 1 if something is owed to others, per item: ok DEADLINE, or no CODE
--- @no queue_not_found | stale_delivery | unknown_delivery
--- @flags allow-oom
--- @requires lib/queue/queue lib/queue/settling lib/queue/deliveries

local function extend(q, handle, ms)
  local group, id, try = queue_settling.find(q, handle)
  if not group or try.late then return queue_settling.refuse(q, handle) end
  queue_deliveries.extend(q, group, id, try, tonumber(ms) or q.lock)
  return { 'ok', try.due }
end

local function run(tag, args)
  local q, refusal = queue_settling.open(tag)
  if not q then return refusal end
  local answers = {}
  for i = 1, #args, 2 do answers[#answers + 1] = extend(q, args[i], args[i + 1]) end
  queue.close(q)
  return { 'ok', q.unsent and 1 or 0, unpack(answers) }
end
