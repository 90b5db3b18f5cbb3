--- The outcome of a graph with the results of its leaves; if it has not ended, notify this process when it does.
--- @key tag the partition
--- @arg id @arg process its mailbox, or empty to only read
--- @ok STATE, ENDED empty if it has not, and of a graph that completed and is not large the leaves that did:
--- @ok key, empty, id, and unless that is left to be read later state, content type and result of each
--- @no graph_not_found
--- @flags allow-oom @owned graph
--- @requires lib/core/keys lib/core/reply lib/graph/graphs lib/graph/members

-- The edges of more members are not looked through in one call.
local MOST_MEMBERS = 2000

--- The results of members that no other waits for.
local function leaves(tag, id)
  local has_outs, rows, room = {}, {}, members.room()
  for _, name in ipairs(server.call('HKEYS', keys.graph_edges(tag, id))) do has_outs[name] = true end
  for _, member in ipairs(server.call('ZRANGE', keys.graph_members(tag, id), 0, -1)) do
    local key = members.key(id, member)
    if not has_outs['>' .. key] then
      local row = members.pass(tag, member, key, '', room)
      if row[4] == nil or row[4] == 'completed' then rows[#rows + 1] = row end
    end
  end
  return rows
end

local function run(tag, args)
  local id, process = unpack(args)
  local graph = graphs.read(tag, id)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  if not graph.ended then
    if process ~= '' then graphs.watch(tag, id, graph, process) end
  elseif graph.state == 'completed' and tonumber(graph.members) <= MOST_MEMBERS then
    return { 'ok', graph.state, graph.ended, leaves(tag, id) }
  end
  return { 'ok', graph.state, graph.ended or '' }
end
