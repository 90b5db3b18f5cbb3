--- Members of a graph in the order of their creation, with their in-edges.
--- @key tag the partition
--- @arg id @arg offset @arg limit
--- @ok VERSION, rows: id, kind, state, join as lax, need and losers, spared, in-edges in msgpack
--- @no graph_not_found
--- @flags no-writes @owned graph
--- @requires lib/core/keys lib/core/reply lib/graph/graphs lib/graph/members

local function run(tag, args)
  local id, offset, limit = args[1], tonumber(args[2]), tonumber(args[3])
  local graph = graphs.read(tag, id)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  local rows = {}
  local ids = server.call('ZRANGE', keys.graph_members(tag, id), offset, offset + limit - 1)
  for _, member in ipairs(ids) do
    local found = server.call(
      'HMGET', keys.record(tag, member), 'kind', 'state', 'lax', 'need', 'losers', 'spared'
    )
    local state = found[2] == 'staged' and 'waiting_children' or found[2]
    local edges = server.call('HGET', keys.graph_edges(tag, id), '<' .. members.key(id, member))
    rows[#rows + 1] = {
      member, found[1], state, found[3] or '', found[4] or '', found[5] or '', found[6] or '', edges or '',
    }
  end
  return { 'ok', graph.revision, rows }
end
