--- An endpoint, without its secrets.
--- @key tag the global partition
--- @arg env @arg id @arg tenant or empty for any
--- @ok fields
--- @no endpoint_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local env, id, tenant = unpack(args)
  local key = keys.endpoint(tag, env, id)
  local owner = server.call('HGET', key, 'tenant')
  if not owner or (tenant ~= '' and tenant ~= owner) then
    return reply.no('endpoint_not_found', 'id', id, 'env', env)
  end
  return { 'ok', server.call('HGETALL', key) }
end
