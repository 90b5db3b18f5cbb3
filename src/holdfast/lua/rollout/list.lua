--- The last rollouts of a deployment, the newest first, or one of them.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg limit @arg id of the only one, or empty
--- @ok NOW in ms, then for each: ID STATE VERSION DATA
--- @no deployment_not_found | ambiguous_deployment | rollout_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/rollouts

local function run(tag, args)
  local env, tenant, deployment, limit, id = unpack(args)
  local name, refusal = deployments.find(tag, env, tenant, deployment)
  if not name then return refusal end
  local rows, ids = { 'ok', clock.now(tag) }, { id }
  if id == '' then ids = server.call('LRANGE', keys.rollouts(tag, name), 0, tonumber(limit) - 1) end
  for _, one in ipairs(ids) do
    local found = rollouts.read(tag, name, one)
    if not found then return reply.no('rollout_not_found', 'id', one) end
    rows[#rows + 1] = rollouts.row(one, found)
  end
  return rows
end
