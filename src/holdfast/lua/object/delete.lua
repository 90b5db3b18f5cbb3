--- Remove an object, if it has the expected version.
--- @key tag the global partition
--- @arg name @arg expected empty: whatever its version; it is fine if there is none
--- @arg token of this call; older callers send none
--- @ok
--- @no version_conflict
--- @flags allow-oom
--- @requires lib/core/keys lib/core/reply lib/core/once

local function delete(tag, args)
  local name, expected = unpack(args)
  local key = keys.object(tag, name)
  if expected ~= '' and server.call('HGET', key, 'version') ~= expected then
    return reply.no('version_conflict', 'key', name)
  end
  server.call('UNLINK', key)
  server.call('ZREM', keys.objects(tag), name)
  return { 'ok' }
end

local function run(tag, args) return once.run(tag, args[3], delete, args) end
