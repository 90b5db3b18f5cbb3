--- Record the time of the last use of API keys.
--- @key tag the global partition
--- @arg ids
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock

local function run(tag, args)
  local now = clock.now(tag)
  for _, id in ipairs(args) do
    local key = keys.access(tag, id)
    if server.call('EXISTS', key) == 1 then server.call('HSET', key, 'used', now) end
  end
  return { 'ok' }
end
