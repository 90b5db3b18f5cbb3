--- Remove an endpoint.
--- @key tag the global partition
--- @arg env @arg id @arg tenant or empty for any
--- @ok removed or absent, and whose it was or empty
--- @flags allow-oom
--- @requires lib/core/keys

local function run(tag, args)
  local env, id, tenant = unpack(args)
  local key = keys.endpoint(tag, env, id)
  local owner = server.call('HGET', key, 'tenant')
  if not owner or (tenant ~= '' and tenant ~= owner) then return { 'ok', 'absent', '' } end
  server.call('DEL', key)
  server.call('ZREM', keys.endpoints(tag, env), owner .. '|' .. id)
  return { 'ok', 'removed', owner }
end
