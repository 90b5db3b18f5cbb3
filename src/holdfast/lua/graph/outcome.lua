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

--- Whether one of the out-edges waits for success.
local function passes_on(packed)
  local edges = cmsgpack.unpack(packed)
  for i = 2, #edges, 2 do
    if edges[i] == 's' then return true end
  end
  return false
end

--- The results of members whose success no other waits for.
local function leaves(tag, id)
  local awaited, rows, room = {}, {}, members.room()
  local edges = server.call('HGETALL', keys.graph_edges(tag, id))
  for i = 1, #edges, 2 do
    if edges[i]:sub(1, 1) == '>' then awaited[edges[i]:sub(2)] = passes_on(edges[i + 1]) end
  end
  for _, member in ipairs(server.call('ZRANGE', keys.graph_members(tag, id), 0, -1)) do
    local key = members.key(id, member)
    if not awaited[key] then
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
