--- Set what users read when an overdue drain of a deployment ends their conversation.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg by who calls @arg text
--- @ok set | same
--- @no deployment_not_found | ambiguous_deployment
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/deploy/deployments

local function run(tag, args)
  local env, tenant, id, by, text = unpack(args)
  local name, refusal = deployments.find(tag, env, tenant, id)
  if not name then return refusal end
  local key = keys.deployment(tag, name)
  if server.call('HGET', key, 'restart') == text then return { 'ok', 'same' } end
  server.call('HSET', key, 'restart', text)
  deployments.changed(tag, name, clock.now(tag), { event = 'restart_text', by = by })
  return { 'ok', 'set' }
end
