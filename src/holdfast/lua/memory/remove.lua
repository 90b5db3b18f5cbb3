--- Remove an item of an agent's memory. Repeated with its token, it gets the same answer.
--- @key tag the partition of the namespace
--- @arg tenant @arg field NAMESPACE\0KEY @arg token of this call; older callers send none
--- @ok removed | absent
--- @flags allow-oom
--- @requires lib/core/clock lib/memory/memories lib/queue/memory

local function run(tag, args)
  local tenant, field, token = unpack(args)
  local known = token and queue_memory.recall(tag, token)
  if known then return { 'ok', known } end
  local answer = memories.remove(tag, tenant, field, clock.now(tag)) and 'removed' or 'absent'
  if token then queue_memory.keep(tag, token, answer) end
  return { 'ok', answer }
end
