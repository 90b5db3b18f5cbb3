--- Remove a value of a pack's state, if it has the expected version.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT|PACK @arg name @arg expected version, or empty: whatever it is
--- @arg token of this call; older callers send none
--- @ok removed | absent
--- @no version_conflict
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/state/entries lib/core/once

local function remove(tag, args)
  local scope, name, expected = unpack(args)
  local current = entries.read(tag, scope, name, clock.now(tag))
  if current and expected ~= '' and tonumber(expected) ~= current.version then
    return reply.no('version_conflict', 'key', name)
  end
  entries.remove(tag, scope, name)
  return { 'ok', current and 'removed' or 'absent' }
end

local function run(tag, args) return once.run(tag, args[4], remove, args) end
