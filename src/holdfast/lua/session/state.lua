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

local function read(key, name, now)
  local packed = server.call('HGET', key, name)
  local value = packed and cmsgpack.unpack(packed) or { version = 0 }
  if value.until_ms and value.until_ms <= now then value.value = nil end
  return value
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
  local key = keys.session_state(tag, id)
  local current = read(key, name, now)
  local changes = op ~= 'get' and (expected == '' or tonumber(expected) == current.version)
  if changes and op == 'set' and current.version == 0 and server.call('HLEN', key) >= MOST_VALUES then
    return reply.no('session_full', 'id', id, 'limit', MOST_VALUES)
  end

  if changes then
    current = { version = current.version + 1 }
    if op == 'set' then current.value = value end
    if ttl ~= '' then current.until_ms = now + tonumber(ttl) end
    server.call('HSET', key, name, cmsgpack.pack(current))
  end
  local result = ('%d %d '):format(current.version, changes and 1 or 0) .. (current.value or '')
  local number = tonumber(rec.steps or 0) + 1
  steps.put(tag, execution, step, number, now, result)
  record.write(tag, execution, rec, { 'steps', number })
  return { 'ok', result }
end
