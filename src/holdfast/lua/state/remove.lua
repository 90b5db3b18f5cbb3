--- Remove a value of a pack's state, if it has the expected version. Repeated with its token, it
--- gets the same answer.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT|PACK @arg name @arg expected version, or empty: whatever it is
--- @arg token of this call; older callers send none
--- @ok removed | absent
--- @no version_conflict
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/state/entries lib/queue/memory

local function run(tag, args)
  local scope, name, expected, token = unpack(args)
  local known = token and queue_memory.recall(tag, token)
  if known then return { 'ok', known } end
  local current = entries.read(tag, scope, name, clock.now(tag))
  if current and expected ~= '' and tonumber(expected) ~= current.version then
    return reply.no('version_conflict', 'key', name)
  end
  entries.remove(tag, scope, name)
  local answer = current and 'removed' or 'absent'
  if token then queue_memory.keep(tag, token, answer) end
  return { 'ok', answer }
end
