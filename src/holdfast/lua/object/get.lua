--- An object and its version.
--- @key tag the global partition
--- @arg name
--- @ok VERSION BODY, or nothing if there is no such object
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local found = server.call('HMGET', keys.object(tag, args[1]), 'version', 'body')
  if not found[1] then return { 'ok' } end
  return { 'ok', found[1], found[2] }
end
