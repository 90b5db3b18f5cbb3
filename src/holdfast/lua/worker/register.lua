--- Register a worker, or say that it is still there; its description is replaced.
--- @key tag the global partition
--- @arg instance @arg worker @arg lanes comma separated @arg capabilities comma separated
--- @arg slots @arg busy @arg ttl_ms @arg tenant the only one that it serves, or empty
--- @arg kinds comma separated, or * for every kind
--- @ok registered | refreshed, EXPIRES_AT, DRAINING as 1 or 0
--- @no worker_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/timers lib/core/reply
--- @requires lib/admin/workers

local function run(tag, args)
  local instance, worker, lanes_csv, capabilities, slots, busy, ttl_ms, tenant, kinds = unpack(args)
  local now = clock.now(tag)
  local key = keys.worker(tag, instance)
  local before = server.call('HMGET', key, 'registered_at', 'draining', 'expires_at', 'tenant', 'busy')
  -- One that has expired is gone, even if its timer has not fired yet.
  if before[3] and tonumber(before[3]) <= now then
    server.call('DEL', key)
    before = {}
  end
  -- A name that another tenant's worker has looks like one that cannot be.
  if before[1] and before[4] ~= tenant then return reply.no('worker_not_found', 'instance', instance) end
  local expires_at = now + tonumber(ttl_ms)
  server.call(
    'HSET', key,
    'worker', worker,
    'lanes', lanes_csv,
    'capabilities', capabilities,
    'slots', slots,
    'busy', busy,
    'tenant', tenant,
    'kinds', kinds,
    'registered_at', before[1] or now,
    'heartbeat_at', now,
    'expires_at', expires_at
  )
  server.call('SADD', keys.workers(tag), instance)
  timers.set(tag, 'k:' .. instance, expires_at, now)
  if before[5] ~= busy then workers.note(tag, instance, tenant, before[1] and 'changed' or 'created') end
  return { 'ok', before[1] and 'refreshed' or 'registered', expires_at, before[2] and 1 or 0 }
end
