--- Start a rollout with the split of its first step. A repeated call gets the same answer.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg by who calls @arg id @arg revision @arg data in JSON
--- @arg entries of the split in msgpack: revision, weight of each, sorted @arg expected generation
--- @ok ID STATE VERSION DATA
--- @no deployment_not_found | ambiguous_deployment | rollout_active | rollout_conflict | stale_generation
--- @no revision_not_found | revision_not_ready
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/splits
--- @requires lib/deploy/rollouts

local function run(tag, args)
  local env, tenant, deployment, by, id, revision, data, packed, expected = unpack(args)
  local now, entries = clock.now(tag), cmsgpack.unpack(packed)
  local name, refusal = deployments.find(tag, env, tenant, deployment)
  if not name then return refusal end
  if server.call('EXISTS', keys.rollout(tag, id)) == 1 then
    local found = rollouts.read(tag, name, id)
    if found and found.revision == revision then return { 'ok', unpack(rollouts.row(id, found)) } end
    return reply.no('rollout_conflict', 'id', id)
  end
  local current = rollouts.current(tag, name)
  if current then return reply.no('rollout_active', 'id', deployment, 'rollout', current) end
  local split = splits.read(tag, name)
  refusal = rollouts.refusal(tag, name, split, expected, entries)
  if refusal then return refusal end

  local change = {
    state = 'running', version = 1, call = id, data = data,
    event = 'rollout_started', by = by, revision = revision,
  }
  rollouts.write(tag, name, id, change, now)
  rollouts.enlist(tag, name, id)
  splits.apply(tag, name, split, entries, { key = id .. '/1', by = by }, now)
  return { 'ok', unpack(rollouts.row(id, change)) }
end
