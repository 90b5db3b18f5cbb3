--- Route again as an earlier generation did, under a new generation.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg id @arg by who calls
--- @arg generation to go back to, empty for the one before @arg key of this call
--- @ok GENERATION, entries in msgpack: revision, weight, since
--- @no deployment_not_found | ambiguous_deployment | idempotency_conflict | generation_not_found
--- @no revision_not_found | revision_not_ready
--- @flags write
--- @requires lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/splits

--- The split of a generation that can be gone back to.
local function earlier(split, generation)
  if generation == '' then return split.past[1] end
  if split.generation == tonumber(generation) and split.generation > 0 then return split end
  for _, past in ipairs(split.past) do
    if past.generation == tonumber(generation) then return past end
  end
  return nil
end

local function run(tag, args)
  local env, tenant, id, by, generation, key = unpack(args)
  local now = clock.now(tag)
  local name, refusal = deployments.find(tag, env, tenant, id)
  if not name then return refusal end
  local split = splits.read(tag, name)
  local done = splits.known(split, key)
  if done then
    if done.to == generation then return splits.answer(done) end
    return reply.no('idempotency_conflict', 'id', id, 'key', key)
  end
  local target = earlier(split, generation)
  if not target then
    return reply.no('generation_not_found', 'id', id, 'generation', tonumber(generation) or 0)
  end
  refusal = not splits.is_same(split.entries, target.entries) and splits.misfit(tag, name, target.entries)
  if refusal then return refusal end

  local call = { key = key, by = by, to = generation, target = target.generation }
  return splits.answer(splits.apply(tag, name, split, target.entries, call, now))
end
