--- Ask a worker to finish what it has and claim no more; it learns so at its next heartbeat.
--- @key tag the global partition
--- @arg instance @arg tenant only a worker of this tenant, or empty
--- @ok
--- @no worker_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/admin/workers

local function run(tag, args)
  local key = keys.worker(tag, args[1])
  local found = server.call('HMGET', key, 'expires_at', 'tenant')
  local gone = tonumber(found[1] or 0) <= clock.now(tag)
  local other = args[2] ~= '' and args[2] ~= found[2]
  if gone or other then return reply.no('worker_not_found', 'instance', args[1]) end
  server.call('HSET', key, 'draining', '1')
  workers.note(tag, args[1], found[2] or '', 'changed')
  return { 'ok' }
end
