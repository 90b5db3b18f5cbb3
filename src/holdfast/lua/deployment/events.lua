--- What happened to a deployment, the newest first.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg id @arg limit
--- @ok per event: AT in ms, its fields in msgpack
--- @no deployment_not_found | ambiguous_deployment
--- @flags no-writes
--- @requires lib/core/keys lib/deploy/deployments

local function run(tag, args)
  local name, refusal = deployments.find(tag, args[1], args[2], args[3])
  if not name then return refusal end
  local rows = { 'ok' }
  for _, entry in ipairs(server.call('XREVRANGE', keys.deployment_log(tag, name), '+', '-', 'COUNT', args[4])) do
    rows[#rows + 1] = { entry[1], entry[2][2] }
  end
  return rows
end
