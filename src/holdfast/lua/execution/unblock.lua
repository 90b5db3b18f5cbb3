--- Make executions ready again because the limits that they waited for have room.
--- @key tag the partition
--- @arg items per item two values: id, limit
--- @ok
--- @flags allow-oom
--- @requires lib/core/clock lib/limit/blocking

local function run(tag, args)
  local now = clock.now(tag)
  for i = 1, #args, 2 do blocking.wake(tag, args[i], args[i + 1], now) end
  return { 'ok' }
end
