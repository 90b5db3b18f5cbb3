--- A sealed secret.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT @arg name
--- @ok KID SEALED
--- @no secret_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local scope, name = unpack(args)
  local found = server.call('HMGET', keys.secrets(tag, scope), 'kid:' .. name, 'sealed:' .. name)
  if not found[2] then return reply.no('secret_not_found', 'name', name) end
  return { 'ok', found[1], found[2] }
end
