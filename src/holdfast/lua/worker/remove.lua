--- Take a worker off the registry, as it does itself when it stops.
--- @key tag the global partition
--- @arg instance @arg tenant only a worker of this tenant, or empty
--- @arg token of this call; older callers send none
--- @ok REMOVED as 1 or 0
--- @flags allow-oom
--- @requires lib/core/keys lib/admin/workers lib/core/once

local function remove(tag, args)
  local instance, tenant = unpack(args)
  local owner = tenant ~= '' and server.call('HGET', keys.worker(tag, instance), 'tenant')
  if owner and owner ~= tenant then return { 'ok', 0 } end
  return { 'ok', workers.forget(tag, instance) }
end

local function run(tag, args) return once.run(tag, args[3], remove, args) end
