--- Remove an env without deployments.
--- @key tag the global partition
--- @arg env @arg token of this call; older callers send none
--- @ok removed | absent
--- @no env_in_use
--- @flags allow-oom
--- @requires lib/core/keys lib/core/reply lib/core/once

local function remove(tag, args)
  local env = args[1]
  local first = server.call('ZRANGE', keys.deployments(tag, env), 0, 0)[1]
  if first then
    local tenant, deployment = first:match('^([^|]+)|(.+)$')
    return reply.no('env_in_use', 'env', env, 'deployment', deployment, 'tenant', tenant)
  end
  server.call('DEL', keys.env(tag, env), keys.deployment_changes(tag, env))
  return { 'ok', server.call('SREM', keys.envs(tag), env) == 1 and 'removed' or 'absent' }
end

local function run(tag, args) return once.run(tag, args[2], remove, args) end
