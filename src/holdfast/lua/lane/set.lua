--- Open, pause or drain a lane. Paused: nothing is claimed. Draining: nothing new is accepted.
--- @key tag the partition
--- @arg lane @arg state open, paused or draining
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/wake

local function run(tag, args)
  local lane, state = unpack(args)
  if state == 'open' then
    server.call('HDEL', keys.settings(tag), 'lane|' .. lane)
  else
    server.call('HSET', keys.settings(tag), 'lane|' .. lane, state)
  end
  wake.lane(tag, lane)
  return { 'ok' }
end
