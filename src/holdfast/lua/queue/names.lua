--- The names of all queues, in order.
--- @key tag the global partition
--- @arg after a name, or empty @arg limit
--- @ok names
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local first = args[1] == '' and '-' or '(' .. args[1]
  return { 'ok', unpack(server.call('ZRANGE', keys.queues(tag), first, '+', 'BYLEX', 'LIMIT', 0, args[2])) }
end
