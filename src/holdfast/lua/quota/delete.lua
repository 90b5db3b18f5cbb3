--- Remove a quota: it no longer limits anything, and the executions that wait for it are woken.
--- @key tag the partition of quotas
--- @arg id @arg token of this call; older callers send none
--- @ok deleted | absent, MORE as 1 or 0: 1: executions are left to be woken, so call again
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/limit/quota lib/core/once

local function delete(tag, args)
  local id = args[1]
  local tenant = server.call('HGET', keys.quota(tag, id), 'tenant')
  if tenant then
    server.call('DEL', keys.quota(tag, id))
    server.call('ZREM', keys.quotas(tag), tenant .. '|' .. id)
  end
  local more = quota.dissolve(tag, id, clock.now(tag))
  return { 'ok', tenant and 'deleted' or 'absent', more and 1 or 0 }
end

local function run(tag, args) return once.run(tag, args[2], delete, args) end
