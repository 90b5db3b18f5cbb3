--- Create an endpoint, or replace one of the same tenant. Its secrets are kept elsewhere.
--- @key tag the global partition
--- @arg env @arg id unique in the env @arg tenant @arg most how many endpoints an env can have
--- @arg fields name, value pairs
--- @ok created or replaced, the time of creation, the time
--- @no env_not_found | endpoint_conflict | too_many_endpoints
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/deploy/deployments

local function run(tag, args)
  local env, id, tenant, most = unpack(args, 1, 4)
  local now = clock.now(tag)
  local key, index = keys.endpoint(tag, env, id), keys.endpoints(tag, env)
  local found = server.call('HMGET', key, 'tenant', 'born')
  if found[1] and found[1] ~= tenant then return reply.no('endpoint_conflict', 'id', id, 'env', env) end
  if not found[1] then
    if not deployments.has_env(tag, env) then return reply.no('env_not_found', 'env', env) end
    if server.call('ZCARD', index) >= tonumber(most) then
      return reply.no('too_many_endpoints', 'env', env, 'limit', tonumber(most))
    end
  end

  local born = found[2] or now
  server.call('DEL', key)
  server.call('HSET', key, 'env', env, 'id', id, 'tenant', tenant, 'born', born, 'at', now, unpack(args, 5))
  server.call('ZADD', index, 0, tenant .. '|' .. id)
  return { 'ok', found[1] and 'replaced' or 'created', born, now }
end
