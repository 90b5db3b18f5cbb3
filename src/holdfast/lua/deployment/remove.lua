--- Remove a deployment that hosts do not serve, with its revisions and rollouts. Its generation is remembered
--- as long as pins can live, so that a deployment of the same name continues to count and revives none.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg keep in ms, for how long the generation is remembered
--- @arg token of this call; older callers send none
--- @ok TENANT
--- @no deployment_not_found | ambiguous_deployment | deployment_in_use
--- @flags allow-oom
--- @requires lib/core/keys lib/core/reply lib/deploy/deployments lib/deploy/splits lib/deploy/archives
--- @requires lib/deploy/rollouts lib/core/once

local SERVED = { warming = true, ready = true, draining = true }

local function served(tag, ids)
  for _, id in ipairs(ids) do
    local lifecycle = server.call('HGET', keys.revision(tag, id), 'lifecycle')
    if SERVED[lifecycle] then return id, lifecycle end
  end
  return nil
end

local function remove(tag, args)
  local env, tenant, deployment_id, keep = unpack(args)
  local name, refusal = deployments.find(tag, env, tenant, deployment_id)
  if not name then return refusal end
  local ids = server.call('ZRANGE', keys.revisions(tag, name), 0, -1)
  local id, lifecycle = served(tag, ids)
  if id then
    return reply.no('deployment_in_use', 'id', deployment_id, 'by', 'revision ' .. id, 'lifecycle', lifecycle)
  end

  for _, revision in ipairs(ids) do
    local key = keys.revision(tag, revision)
    archives.leave_all(tag, server.call('HGET', key, 'archives'), archives.revision(name, revision))
    server.call('DEL', key)
  end
  rollouts.forget(tag, name)
  local generation = splits.read(tag, name).generation
  local split = { generation = generation, entries = {}, past = {}, keys = {} }
  if generation > 0 then server.call('SET', keys.split(tag, name), cmsgpack.pack(split), 'PX', keep) end
  tenant = server.call('HGET', keys.deployment(tag, name), 'tenant')
  deployments.forget(tag, env, tenant, deployment_id)
  return { 'ok', tenant }
end

local function run(tag, args) return once.run(tag, args[5], remove, args) end
