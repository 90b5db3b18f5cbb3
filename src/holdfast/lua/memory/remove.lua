--- Remove an item of an agent's memory.
--- @key tag the partition of the namespace
--- @arg tenant @arg field NAMESPACE\0KEY @arg token of this call; older callers send none
--- @ok removed | absent
--- @flags allow-oom
--- @requires lib/core/clock lib/memory/memories lib/core/once

local function remove(tag, args)
  local tenant, field = unpack(args)
  return { 'ok', memories.remove(tag, tenant, field, clock.now(tag)) and 'removed' or 'absent' }
end

local function run(tag, args) return once.run(tag, args[3], remove, args) end
