--- Replace a sealed secret by the same one sealed with a newer key, unless it has changed since.
--- @key tag the partition of the scope
--- @arg scope ENV|TENANT @arg name @arg before the bytes that were read @arg kid @arg sealed
--- @ok replaced | kept
--- @flags write
--- @requires lib/core/keys

local function run(tag, args)
  local scope, name, before, kid, sealed = unpack(args)
  local key = keys.secrets(tag, scope)
  if server.call('HGET', key, 'sealed:' .. name) ~= before then return { 'ok', 'kept' } end
  server.call('HSET', key, 'kid:' .. name, kid, 'sealed:' .. name, sealed)
  return { 'ok', 'replaced' }
end
