--- Settle deliveries by their handles, independently of each other.
--- @key tag the queue
--- @arg verb ack, nack, release or reject
--- @arg items per item three values: handle, delay in ms or empty, reason or empty
--- @ok UNSENT 1 if something is owed to others, per item: ok, repeated, or no CODE
--- @no queue_not_found | stale_delivery | unknown_delivery
--- @flags allow-oom
--- @requires lib/queue/queue lib/queue/settling

local function run(tag, args)
  local verb, answers = args[1], {}
  local q, refusal = queue_settling.open(tag)
  if not q then return refusal end
  for i = 2, #args, 3 do
    answers[#answers + 1] = queue_settling.settle(q, verb, args[i], args[i + 1], args[i + 2])
  end
  queue.close(q)
  return { 'ok', q.unsent and 1 or 0, unpack(answers) }
end
