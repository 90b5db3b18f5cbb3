--- The signals of an execution, in the order of arrival.
--- @key tag the partition
--- @arg id
--- @ok signals, packed
--- @no execution_not_found
--- @flags no-writes @owned execution
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local id = args[1]
  if server.call('EXISTS', keys.record(tag, id)) == 0 then return reply.no('execution_not_found', 'id', id) end
  return { 'ok', server.call('LRANGE', keys.signals(tag, id), 0, -1) }
end
