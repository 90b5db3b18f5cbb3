--- Deployments, in the global partition: their records, how they are found, and what changed.
---   env, tenant, id    pack or app = what they run   hosts, prefixes = their routes, in msgpack
---   content = the digest of all that   born   revisions = how many were staged
---   change = the number of their last change in their env
--- @requires lib/core/keys lib/core/reply lib/core/wake lib/core/journal lib/stream/feed
local deployments = {}

-- What is remembered of a deployment, newest last.
local MOST_EVENTS = 200

--- The env `local` always exists.
function deployments.has_env(tag, env)
  return env == 'local' or server.call('SISMEMBER', keys.envs(tag), env) == 1
end

function deployments.name_of(env, tenant, id) return env .. '|' .. tenant .. '|' .. id end

--- The name of a deployment, or nil and a refusal. Without a tenant, an id that several tenants use is
--- ambiguous.
function deployments.find(tag, env, tenant, id)
  if tenant == '' then
    local tenants = server.call('SMEMBERS', keys.deployment_tenants(tag, env, id))
    if #tenants > 1 then return nil, reply.no('ambiguous_deployment', 'id', id, 'env', env) end
    tenant = tenants[1]
  end
  local name = tenant and deployments.name_of(env, tenant, id)
  if not name or server.call('EXISTS', keys.deployment(tag, name)) == 0 then
    return nil, reply.no('deployment_not_found', 'id', id, 'env', env)
  end
  return name
end

--- Note a change: hosts of the env read it next, and the log of the deployment keeps `event`.
function deployments.changed(tag, name, now, event)
  local env, rest = name:match('^([^|]+)|(.+)$')
  local number = server.call('HINCRBY', keys.env(tag, env), 'changes', 1)
  server.call('ZADD', keys.deployment_changes(tag, env), number, rest)
  server.call('HSET', keys.deployment(tag, name), 'change', number)
  journal.append(keys.deployment_log(tag, name), MOST_EVENTS, now, 'data', cmsgpack.pack(event))
  wake.deployments(tag, env)
  local tenant, id = rest:match('^([^|]+)|(.+)$')
  feed.noted(tag, tenant, 'deployment', id, 'changed', 'env', env)
end

--- Remove everything of a deployment but its revisions and its split, and let hosts of the env look.
function deployments.forget(tag, env, tenant, id)
  local name, tenants = deployments.name_of(env, tenant, id), keys.deployment_tenants(tag, env, id)
  server.call('DEL', keys.deployment(tag, name), keys.deployment_log(tag, name), keys.revisions(tag, name))
  server.call('ZREM', keys.deployments(tag, env), tenant .. '|' .. id)
  server.call('ZREM', keys.deployment_changes(tag, env), tenant .. '|' .. id)
  server.call('SREM', tenants, tenant)
  server.call('HINCRBY', keys.env(tag, env), 'changes', 1)
  wake.deployments(tag, env)
  feed.noted(tag, tenant, 'deployment', id, 'removed', 'env', env)
end

--- fields, the split in msgpack or empty, the fields of each revision.
function deployments.row(tag, name)
  local revisions = {}
  for i, id in ipairs(server.call('ZRANGE', keys.revisions(tag, name), 0, -1)) do
    revisions[i] = server.call('HGETALL', keys.revision(tag, id))
  end
  local fields = server.call('HGETALL', keys.deployment(tag, name))
  return { fields, server.call('GET', keys.split(tag, name)) or '', revisions }
end
