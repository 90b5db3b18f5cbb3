--- Add a queue to the list of all queues, or remove it.
--- @key tag the global partition
--- @arg name @arg listed 1 or 0
--- @ok
--- @flags allow-oom
--- @requires lib/core/keys lib/core/wake

local function run(tag, args)
  local name, listed = unpack(args)
  if listed == '1' then
    if server.call('ZADD', keys.queues(tag), 0, name) == 1 then wake.lane(tag, 'queues') end
  else
    server.call('ZREM', keys.queues(tag), name)
  end
  return { 'ok' }
end
