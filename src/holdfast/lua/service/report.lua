--- Store the status of a process's services until the report expires. A report without services
--- removes the process. Expired reports are removed.
--- @key tag the global partition
--- @arg process @arg ttl_ms @arg services in JSON, or empty
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock

-- Bounds the work of one call; the next report continues.
local MOST_EXPIRED = 100

local function run(tag, args)
  local process, ttl_ms, services = unpack(args)
  local now = clock.now(tag)
  local reports, expiries = keys.services(tag), keys.service_expiries(tag)

  local gone = server.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, MOST_EXPIRED)
  if services == '' then gone[#gone + 1] = process end
  if #gone > 0 then
    server.call('HDEL', reports, unpack(gone))
    server.call('ZREM', expiries, unpack(gone))
  end
  if services ~= '' then
    server.call('HSET', reports, process, services)
    server.call('ZADD', expiries, now + tonumber(ttl_ms), process)
  end
  return { 'ok' }
end
