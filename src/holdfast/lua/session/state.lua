--- Read or change a value of a session's state, and record what came of it under a step.
--- @key tag the partition
--- @arg id of the execution @arg fence @arg step @arg op get, set or remove @arg name
--- @arg value @arg expected version, or empty @arg ttl_ms or empty
--- @ok VERSION CHANGED VALUE in one string: numbers, then the value, empty if there is none
--- @no execution_not_found | not_active | stale_lease | lease_revoked | session_not_found
--- @no session_full | too_many_steps
--- @flags write @owned execution
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/execution/lease
--- @requires lib/execution/steps lib/session/sessions

local MOST_VALUES = 1000

--- Remove a value. Later versions continue after its own, so that no version comes twice.
local function remove(tag, id, name, version)
  server.call('HDEL', keys.session_state(tag, id), name)
  local highest = tonumber(server.call('HGET', keys.session(tag, id), 'values') or 0)
  if version > highest then server.call('HSET', keys.session(tag, id), 'values', version) end
end

local function is_over(value, now) return value.until_ms and value.until_ms <= now end

--- The value of a name, version 0 if there is none. One whose time is over is removed.
local function read(tag, id, name, now)
  local packed = server.call('HGET', keys.session_state(tag, id), name)
  local value = packed and cmsgpack.unpack(packed)
  if value and is_over(value, now) then
    remove(tag, id, name, value.version)
    value = nil
  end
  return value or { version = 0 }
end

--- Whether there is no room for another name, after those whose time is over are removed.
local function is_full(tag, id, now)
  local key = keys.session_state(tag, id)
  if server.call('HLEN', key) < MOST_VALUES then return false end
  local flat = server.call('HGETALL', key)
  for i = 1, #flat, 2 do
    local value = cmsgpack.unpack(flat[i + 1])
    if is_over(value, now) then remove(tag, id, flat[i], value.version) end
  end
  return server.call('HLEN', key) >= MOST_VALUES
end

--- Set a value; returns it.
local function set(tag, id, name, value, version, until_ms)
  if version == 0 then version = tonumber(server.call('HGET', keys.session(tag, id), 'values') or 0) end
  local changed = { version = version + 1, value = value, until_ms = until_ms }
  server.call('HSET', keys.session_state(tag, id), name, cmsgpack.pack(changed))
  return changed
end

local function run(tag, args)
  local execution, fence, step, op, name, value, expected, ttl = unpack(args)
  local now = clock.now(tag)
  local rec, refusal = lease.check(tag, execution, fence, now)
  if not rec then return refusal end
  local id = sessions.of(execution)
  if not rec.session or server.call('EXISTS', keys.session(tag, id)) == 0 then
    return reply.no('session_not_found', 'id', id or execution)
  end
  local known = steps.result(tag, execution, step)
  if known then return { 'ok', known } end
  if server.call('HLEN', keys.steps(tag, execution)) >= steps.MOST then
    return reply.no('too_many_steps', 'id', execution, 'limit', steps.MOST)
  end
  local current = read(tag, id, name, now)
  local changes = op ~= 'get' and (expected == '' or tonumber(expected) == current.version)
  if changes and op == 'set' and current.version == 0 and is_full(tag, id, now) then
    return reply.no('session_full', 'id', id, 'limit', MOST_VALUES)
  end

  if changes and op == 'set' then
    current = set(tag, id, name, value, current.version, ttl ~= '' and now + tonumber(ttl) or nil)
  elseif changes then
    remove(tag, id, name, current.version)
    current = { version = 0 }
  end
  local result = ('%d %d '):format(current.version, changes and 1 or 0) .. (current.value or '')
  local number = tonumber(rec.steps or 0) + 1
  steps.put(tag, execution, step, number, now, result)
  record.write(tag, execution, rec, { 'steps', number })
  return { 'ok', result }
end
