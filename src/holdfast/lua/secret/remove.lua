--- Remove a secret.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT @arg name
--- @ok removed | absent
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  local scope, name = unpack(args)
  local key = keys.secrets(tag, scope)
  local count = server.call('HDEL', key, 'kid:' .. name, 'sealed:' .. name, 'at:' .. name)
  return { 'ok', count > 0 and 'removed' or 'absent' }
end
