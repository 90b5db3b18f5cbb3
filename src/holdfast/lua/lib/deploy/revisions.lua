--- Revisions of deployments. One never changes except for its lifecycle:
---   id, deployment = ENV|TENANT|ID, number = which of the deployment
---   digest, overlays, archives = of the packs   config   signers   content = the digest of all that
---   lifecycle   version = how often the lifecycle has changed   staged_at, changed_at
---   gates = what the last warm-up found   drained_at, drain_ms = when it began to drain, and the deadline
--- @requires lib/core/keys lib/core/reply lib/deploy/deployments
local revisions = {}

--- Its fields, or nil and a refusal.
function revisions.read(tag, name, id)
  local flat = server.call('HGETALL', keys.revision(tag, id))
  local found = {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  if found.deployment == name then return found end
  return nil, reply.no('revision_not_found', 'id', id)
end

--- Its deployment's name and its fields, or nil and a refusal.
function revisions.find(tag, env, tenant, deployment, id)
  local name, refusal = deployments.find(tag, env, tenant, deployment)
  if not name then return nil, refusal end
  local found
  found, refusal = revisions.read(tag, name, id)
  if not found then return nil, refusal end
  return name, found
end
