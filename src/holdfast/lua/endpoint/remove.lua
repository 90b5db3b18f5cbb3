--- Remove an endpoint.
--- @key tag the global partition
--- @arg env @arg id @arg tenant or empty for any
--- @arg token of this call; older callers send none
--- @ok removed or absent, and whose it was or empty
--- @flags allow-oom
--- @requires lib/core/keys lib/core/once

local function remove(tag, args)
  local env, id, tenant = unpack(args)
  local key = keys.endpoint(tag, env, id)
  local owner = server.call('HGET', key, 'tenant')
  if not owner or (tenant ~= '' and tenant ~= owner) then return { 'ok', 'absent', '' } end
  server.call('DEL', key)
  server.call('ZREM', keys.endpoints(tag, env), owner .. '|' .. id)
  return { 'ok', 'removed', owner }
end

local function run(tag, args) return once.run(tag, args[4], remove, args) end
