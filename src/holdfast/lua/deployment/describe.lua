--- A deployment with its split and its revisions.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg id
--- @ok fields, the split in msgpack or empty, the fields of each revision
--- @no deployment_not_found | ambiguous_deployment
--- @flags no-writes
--- @requires lib/deploy/deployments

local function run(tag, args)
  local name, refusal = deployments.find(tag, args[1], args[2], args[3])
  if not name then return refusal end
  return { 'ok', unpack(deployments.row(tag, name)) }
end
