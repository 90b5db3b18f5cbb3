--- Remove a secret.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT @arg name @arg token of this call; older callers send none
--- @ok removed | absent
--- @flags allow-oom
--- @requires lib/core/keys lib/core/once

local function remove(tag, args)
  local scope, name = unpack(args)
  local key = keys.secrets(tag, scope)
  local count = server.call('HDEL', key, 'kid:' .. name, 'sealed:' .. name, 'at:' .. name)
  return { 'ok', count > 0 and 'removed' or 'absent' }
end

local function run(tag, args) return once.run(tag, args[3], remove, args) end
