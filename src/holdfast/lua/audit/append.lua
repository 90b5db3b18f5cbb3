--- Append to an audit log. There are two logs, so that the frequent calls of workers and submitters
--- do not displace the rare ones of operators.
--- @key tag the global partition
--- @arg log calls or control @arg most entries to keep @arg keep_ms
--- @arg entries per entry its tenant, its key, and what happened, in JSON
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/journal

local function run(tag, args)
  local log, most, keep_ms = unpack(args, 1, 3)
  local now = clock.now(tag)
  local key = keys.audit(tag, log)
  for i = 4, #args, 3 do
    journal.append(key, most, now, 'tenant', args[i], 'key', args[i + 1], 'data', args[i + 2])
  end
  server.call('XTRIM', key, 'MINID', '~', ('%d-0'):format(math.max(0, now - tonumber(keep_ms))))
  return { 'ok' }
end
