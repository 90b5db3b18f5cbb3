--- Ack a delivery and owe messages to other queues and executions to the engine, all or nothing,
--- once per handle.
--- @key tag the queue
--- @arg handle
--- @arg effects per effect three values: target queue, fields in msgpack, body; of executions the body only
--- @ok UNSENT 1 if something is owed to others, ok or repeated
--- @no queue_not_found | stale_delivery | unknown_delivery
--- @flags write
--- @requires lib/queue/queue lib/queue/settling lib/queue/outbox

local function owe(q, target, fields, body)
  if target == '' then
    queue_outbox.put(q, '', body)
  else
    local message = cmsgpack.unpack(fields)
    message.body = body
    queue_outbox.put_message(q, target, message)
  end
end

local function run(tag, args)
  local q, refusal = queue_settling.open(tag)
  if not q then return refusal end
  local answer = queue_settling.settle(q, 'ack', args[1], '', '')
  if answer[1] == 'ok' then
    for i = 2, #args, 3 do owe(q, args[i], args[i + 1], args[i + 2]) end
  end
  queue.close(q)
  if answer[1] == 'no' then return answer end
  return { 'ok', q.unsent and 1 or 0, answer[1] }
end
