--- The outbox of a queue.
--- @key tag the queue
--- @arg limit how many entries of each target
--- @ok INCARNATION of the queue, then per target: its name, number of the first entry, entries
--- @no queue_not_found
--- @flags no-writes
--- @requires lib/queue/queue lib/queue/outbox

local function run(tag, args)
  local q, refusal = queue.open(tag)
  if not q then return refusal end
  -- The targets may be more than Lua can unpack.
  local answer = { 'ok', queue_outbox.incarnation(q) }
  for _, owed in ipairs(queue_outbox.list(q, tonumber(args[1]))) do answer[#answer + 1] = owed end
  return answer
end
