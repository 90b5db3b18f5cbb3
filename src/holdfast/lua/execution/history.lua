--- The log of an execution, oldest first.
--- @key tag the partition
--- @arg id
--- @ok BORN, entries in msgpack
--- @no execution_not_found
--- @flags no-writes
--- @requires lib/keys lib/reply

local function run(tag, args)
  local id = args[1]
  local born = server.call('HGET', keys.record(tag, id), 'born')
  if not born then return reply.no('execution_not_found', 'id', id) end
  return { 'ok', born, server.call('LRANGE', keys.log(tag, id), 0, -1) }
end
