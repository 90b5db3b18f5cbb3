--- Ask a worker to finish what it has and claim no more; it learns so at its next heartbeat.
--- @key tag the global partition
--- @arg instance
--- @ok
--- @no worker_not_found
--- @flags allow-oom
--- @requires lib/keys lib/clock lib/reply

local function run(tag, args)
  local key = keys.worker(tag, args[1])
  local expires_at = tonumber(server.call('HGET', key, 'expires_at') or 0)
  if expires_at <= clock.now(tag) then return reply.no('worker_not_found', 'instance', args[1]) end
  server.call('HSET', key, 'draining', '1')
  return { 'ok' }
end
