--- Ask to take the sample of these 5 s; one process may.
--- @key tag the global partition
--- @ok MAY as 1 or 0
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/admin/history

local function run(tag, _)
  local bucket = math.floor(clock.now(tag) / history.STEPS.hour[1])
  local last = tonumber(server.call('HGET', keys.meta(tag), 'history_at') or 0)
  if bucket <= last then return { 'ok', 0 } end
  server.call('HSET', keys.meta(tag), 'history_at', bucket)
  return { 'ok', 1 }
end
