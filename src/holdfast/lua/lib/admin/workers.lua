--- The registry of workers, in the global partition. A worker stays in it while it sends heartbeats.
--- @requires lib/core/keys lib/core/timers lib/stream/feed
local workers = {}

--- Note that a worker has changed; one without a tenant serves all of them.
function workers.note(tag, instance, tenant, change)
  if tenant == '' then
    feed.noted_to_all(tag, 'worker', instance, change)
  else
    feed.noted(tag, tenant, 'worker', instance, change)
  end
end

--- Remove a worker.
function workers.forget(tag, instance)
  local tenant = server.call('HGET', keys.worker(tag, instance), 'tenant')
  if tenant then workers.note(tag, instance, tenant, 'removed') end
  server.call('ZREM', keys.timers(tag), 'k:' .. instance)
  server.call('SREM', keys.workers(tag), instance)
  return server.call('DEL', keys.worker(tag, instance))
end

--- A worker's timer fired: remove it, unless it has sent a heartbeat since.
function workers.expire(tag, instance, now)
  local until_ms = tonumber(server.call('HGET', keys.worker(tag, instance), 'expires_at') or 0)
  if until_ms <= now then
    workers.forget(tag, instance)
  else
    timers.set(tag, 'k:' .. instance, until_ms, now)
  end
end
