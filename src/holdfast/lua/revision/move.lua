--- Move a revision along its lifecycle. The model has the table of legal edges: `sources` are the states
--- from which `to` can be reached, `settled` those in which the call has nothing left to do.
--- @key tag the global partition
--- @arg env @arg tenant or empty @arg deployment @arg by who calls @arg id
--- @arg to a state @arg sources separated by spaces @arg settled separated by spaces
--- @arg version of the lifecycle that the caller saw, or empty
--- @arg fields name, value pairs
--- @ok moved | same, the fields
--- @no deployment_not_found | ambiguous_deployment | revision_not_found | stale_lifecycle
--- @no illegal_transition | revision_routable
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/deploy/deployments lib/deploy/revisions
--- @requires lib/deploy/splits lib/deploy/archives

-- Archived revisions that are still shown.
local MOST_ARCHIVED = 50

local function has(words, word) return (' ' .. words .. ' '):find(' ' .. word .. ' ', 1, true) ~= nil end

local function answer(tag, id, word) return { 'ok', word, server.call('HGETALL', keys.revision(tag, id)) } end

--- Forget the first archived revision if there are too many.
local function tidy(tag, name)
  local archived = {}
  for _, id in ipairs(server.call('ZRANGE', keys.revisions(tag, name), 0, -1)) do
    local lifecycle = server.call('HGET', keys.revision(tag, id), 'lifecycle')
    if lifecycle == 'archived' then archived[#archived + 1] = id end
  end
  if #archived <= MOST_ARCHIVED then return end
  server.call('ZREM', keys.revisions(tag, name), archived[1])
  server.call('DEL', keys.revision(tag, archived[1]))
end

--- Another deadline of a revision that drains already.
local function set_deadline(tag, name, id, found, fields, now, by)
  local drain_ms = fields[1] == 'drain_ms' and fields[2] or nil
  if found.lifecycle ~= 'draining' or (drain_ms or '') == '' or drain_ms == found.drain_ms then return 'same' end
  server.call('HSET', keys.revision(tag, id), 'drain_ms', drain_ms)
  deployments.changed(tag, name, now, { event = 'deadline', by = by, revision = id })
  return 'moved'
end

local function run(tag, args)
  local env, tenant, deployment, by, id, to, sources, settled, version = unpack(args, 1, 9)
  local fields = { unpack(args, 10) }
  local now = clock.now(tag)
  local name, found = revisions.find(tag, env, tenant, deployment, id)
  if not name then return found end
  local from = found.lifecycle
  if version ~= '' and found.version ~= version then
    local repeated = from == to and tonumber(found.version) == tonumber(version) + 1
    if repeated then return answer(tag, id, 'same') end
    return reply.no('stale_lifecycle', 'id', id, 'lifecycle', from, 'version', tonumber(found.version))
  end
  if has(settled, from) then return answer(tag, id, set_deadline(tag, name, id, found, fields, now, by)) end
  if not has(sources, from) then
    return reply.no('illegal_transition', 'id', id, 'lifecycle', from, 'to', to)
  end
  if to == 'draining' and splits.route(splits.read(tag, name), id) then
    return reply.no('revision_routable', 'id', id)
  end

  local key = keys.revision(tag, id)
  server.call('HSET', key, 'lifecycle', to, 'version', found.version + 1, 'changed_at', now, unpack(fields))
  if to == 'draining' then
    server.call('HSET', key, 'drained_at', now)
    server.call('SADD', keys.draining_revisions(tag), name .. '|' .. id)
  elseif from == 'draining' then
    server.call('SREM', keys.draining_revisions(tag), name .. '|' .. id)
  end
  if to == 'archived' then
    archives.leave_all(tag, found.archives, archives.revision(name, id))
    tidy(tag, name)
  end
  deployments.changed(tag, name, now, { event = to, by = by, revision = id, before = from })
  return answer(tag, id, 'moved')
end
