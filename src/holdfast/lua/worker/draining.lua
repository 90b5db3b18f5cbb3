--- Whether a worker was asked to finish.
--- @key tag the global partition
--- @arg instance @arg tenant only a worker of this tenant, or empty
--- @ok DRAINING as 1 or 0
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local expires_at, draining, tenant = unpack(
    server.call('HMGET', keys.worker(tag, args[1]), 'expires_at', 'draining', 'tenant')
  )
  local alive = tonumber(expires_at or 0) > clock.now(tag)
  return { 'ok', alive and draining and tenant == args[2] and 1 or 0 }
end
