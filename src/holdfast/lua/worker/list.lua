--- The workers that are alive.
--- @key tag the global partition
--- @ok instance, fields as name, value pairs of each
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, _)
  local now = clock.now(tag)
  local alive = { 'ok' }
  for _, instance in ipairs(server.call('SMEMBERS', keys.workers(tag))) do
    local fields = server.call('HGETALL', keys.worker(tag, instance))
    local expires_at = tonumber(server.call('HGET', keys.worker(tag, instance), 'expires_at') or 0)
    if expires_at > now then alive[#alive + 1] = { instance, fields } end
  end
  return alive
end
