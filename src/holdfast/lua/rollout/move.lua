--- Change a rollout, and with it the split of its deployment if there are entries. A repeated call gets
--- the same answer.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg by who calls @arg id
--- @arg version that the caller saw @arg call names this change @arg state @arg event what happened
--- @arg data in JSON @arg entries of the split in msgpack, or empty @arg expected generation of the split
--- @arg key of the change of the split
--- @ok ID STATE VERSION DATA
--- @no deployment_not_found | ambiguous_deployment | rollout_not_found | stale_rollout | stale_generation
--- @no revision_not_found | revision_not_ready
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/splits
--- @requires lib/deploy/rollouts

local function run(tag, args)
  local env, tenant, deployment, by, id, version, call, state, event, data, packed, expected, key = unpack(args)
  local now = clock.now(tag)
  local name, refusal = deployments.find(tag, env, tenant, deployment)
  if not name then return refusal end
  local found = rollouts.read(tag, name, id)
  if not found then return reply.no('rollout_not_found', 'id', id) end
  if found.call == call then return { 'ok', unpack(rollouts.row(id, found)) } end
  if found.version ~= tonumber(version) then
    return reply.no('stale_rollout', 'id', id, 'state', found.state, 'version', found.version)
  end
  local split, entries = splits.read(tag, name), packed ~= '' and cmsgpack.unpack(packed)
  refusal = entries and rollouts.refusal(tag, name, split, expected, entries)
  if refusal then return refusal end

  local change = {
    state = state, version = found.version + 1, call = call, data = data, event = event, by = by,
    revision = found.revision,
  }
  rollouts.write(tag, name, id, change, now)
  if entries then splits.apply(tag, name, split, entries, { key = key, by = by }, now) end
  return { 'ok', unpack(rollouts.row(id, change)) }
end
