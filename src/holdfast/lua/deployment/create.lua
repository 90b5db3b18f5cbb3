--- Create a deployment. A repeated call gets the same answer; different content is refused.
--- @key tag the global partition
--- @arg env @arg tenant @arg id @arg by who calls @arg content the digest of the rest
--- @arg fields name, value pairs
--- @ok created | exists
--- @no env_not_found | deployment_conflict
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/deploy/deployments

local function run(tag, args)
  local env, tenant, id, by, content = unpack(args, 1, 5)
  local now = clock.now(tag)
  local name = deployments.name_of(env, tenant, id)
  local key = keys.deployment(tag, name)
  local found = server.call('HGET', key, 'content')
  if found == content then return { 'ok', 'exists' } end
  if found then return reply.no('deployment_conflict', 'id', id, 'env', env) end
  if not deployments.has_env(tag, env) then return reply.no('env_not_found', 'env', env) end

  server.call(
    'HSET', key, 'env', env, 'tenant', tenant, 'id', id, 'content', content, 'born', now, unpack(args, 6)
  )
  server.call('ZADD', keys.deployments(tag, env), 0, tenant .. '|' .. id)
  server.call('SADD', keys.deployment_tenants(tag, env, id), tenant)
  deployments.changed(tag, name, now, { event = 'created', by = by })
  return { 'ok', 'created' }
end
