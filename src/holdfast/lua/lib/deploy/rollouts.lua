--- Rollouts of deployments, in the global partition. The engine decides; the store keeps what it decided,
--- together with the split, and refuses decisions on an earlier version:
---   deployment = ENV|TENANT|ID   revision   state   version = how often it has changed   call = the last change
---   data = the rest, in JSON
--- @requires lib/core/keys lib/core/reply lib/deploy/deployments lib/deploy/splits
local rollouts = {}

-- Rollouts of a deployment that are remembered.
local MOST = 20
local ACTIVE = { running = true, paused = true }

--- Its fields, or nil if the deployment has no such rollout.
function rollouts.read(tag, name, id)
  local found = server.call(
    'HMGET', keys.rollout(tag, id), 'deployment', 'revision', 'state', 'version', 'call', 'data'
  )
  if found[1] ~= name then return nil end
  return { revision = found[2], state = found[3], version = tonumber(found[4]), call = found[5], data = found[6] }
end

--- The id of the rollout of a deployment that is not over, or nil.
function rollouts.current(tag, name)
  local id = server.call('LINDEX', keys.rollouts(tag, name), 0)
  return id and ACTIVE[server.call('HGET', keys.rollout(tag, id), 'state')] and id or nil
end

--- Why a split cannot be set to these entries now, or nil.
function rollouts.refusal(tag, name, split, expected, entries)
  if split.generation ~= tonumber(expected) then
    local deployment = name:match('[^|]+$')
    return reply.no('stale_generation', 'id', deployment, 'generation', split.generation)
  end
  return splits.misfit(tag, name, entries)
end

--- Write a rollout; `change` has state, version, call, data, event, by and revision.
function rollouts.write(tag, name, id, change, now)
  server.call(
    'HSET', keys.rollout(tag, id),
    'deployment', name, 'revision', change.revision, 'state', change.state, 'version', change.version,
    'call', change.call, 'data', change.data
  )
  local entry = name .. '|' .. id
  server.call(ACTIVE[change.state] and 'SADD' or 'SREM', keys.active_rollouts(tag), entry)
  local event = { event = change.event, by = change.by, revision = change.revision, rollout = id }
  deployments.changed(tag, name, now, event)
end

--- Make a rollout the last one of its deployment, and forget the oldest if there are too many.
function rollouts.enlist(tag, name, id)
  local key = keys.rollouts(tag, name)
  if server.call('LPUSH', key, id) > MOST then server.call('DEL', keys.rollout(tag, server.call('RPOP', key))) end
end

--- Their deployment is removed.
function rollouts.forget(tag, name)
  for _, id in ipairs(server.call('LRANGE', keys.rollouts(tag, name), 0, -1)) do
    server.call('DEL', keys.rollout(tag, id))
    server.call('SREM', keys.active_rollouts(tag), name .. '|' .. id)
  end
  server.call('DEL', keys.rollouts(tag, name))
end

--- ID STATE VERSION DATA
function rollouts.row(id, found) return { id, found.state, found.version, found.data } end
