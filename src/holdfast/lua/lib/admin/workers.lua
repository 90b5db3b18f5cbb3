--- The registry of workers, in the global partition. A worker lives as long as it beats.
--- @requires lib/core/keys lib/core/timers
local workers = {}

--- Forget a worker.
function workers.forget(tag, instance)
  server.call('ZREM', keys.timers(tag), 'k:' .. instance)
  server.call('SREM', keys.workers(tag), instance)
  return server.call('DEL', keys.worker(tag, instance))
end

--- A worker's timer fired: it is gone unless it has beaten since.
function workers.expire(tag, instance, now)
  local until_ms = tonumber(server.call('HGET', keys.worker(tag, instance), 'expires_at') or 0)
  if until_ms <= now then
    workers.forget(tag, instance)
  else
    timers.set(tag, 'k:' .. instance, until_ms, now)
  end
end
