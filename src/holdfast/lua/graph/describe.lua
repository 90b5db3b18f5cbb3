--- The record of a graph, without its members.
--- @key tag the partition
--- @arg id
--- @ok fields as name, value pairs, log entries in msgpack
--- @no graph_not_found
--- @flags no-writes @owned graph
--- @requires lib/core/keys lib/core/reply lib/graph/graphs

local function run(tag, args)
  local id = args[1]
  local graph, flat = graphs.read(tag, id)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  return { 'ok', flat, server.call('LRANGE', keys.graph_log(tag, id), 0, -1) }
end
