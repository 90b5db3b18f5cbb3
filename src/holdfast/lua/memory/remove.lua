--- Remove an item of an agent's memory.
--- @key tag the partition of the namespace
--- @arg tenant @arg field NAMESPACE\0KEY
--- @ok removed | absent
--- @flags allow-oom
--- @requires lib/core/clock lib/memory/memories

local function run(tag, args)
  local tenant, field = unpack(args)
  return { 'ok', memories.remove(tag, tenant, field, clock.now(tag)) and 'removed' or 'absent' }
end
