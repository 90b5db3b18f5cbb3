--- Set the split of a deployment. Equal content changes nothing, and a key that was used answers as the
--- first time, even if a revision has begun to drain since.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg id @arg by who calls
--- @arg entries in msgpack: revision, weight of each, sorted @arg expected generation @arg key of this call
--- @ok GENERATION, entries in msgpack: revision, weight, since
--- @no deployment_not_found | ambiguous_deployment | idempotency_conflict | stale_generation
--- @no revision_not_found | revision_not_ready
--- @flags write
--- @requires lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/splits

local function run(tag, args)
  local env, tenant, id, by, packed, expected, key = unpack(args)
  local now, entries = clock.now(tag), cmsgpack.unpack(packed)
  local name, refusal = deployments.find(tag, env, tenant, id)
  if not name then return refusal end
  local split = splits.read(tag, name)
  local done = splits.known(split, key)
  if done then
    if not done.to and splits.is_same(done.entries, entries) then return splits.answer(done) end
    return reply.no('idempotency_conflict', 'id', id, 'key', key)
  end
  if split.generation ~= tonumber(expected) then
    return reply.no('stale_generation', 'id', id, 'generation', split.generation)
  end
  if not splits.is_same(split.entries, entries) then
    refusal = splits.misfit(tag, name, entries)
    if refusal then return refusal end
  end

  return splits.answer(splits.apply(tag, name, split, entries, { key = key, by = by }, now))
end
