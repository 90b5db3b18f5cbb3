--- The outcome of a graph; if it has not ended, notify this process when it does, and when a cancel is
--- done.
--- @key tag the partition
--- @arg id @arg process its mailbox, or empty to only read
--- @ok STATE, ENDED empty if it has not, BUSY empty if it has no more work to do
--- @no graph_not_found
--- @flags allow-oom @owned graph
--- @requires lib/core/reply lib/graph/graphs lib/graph/work

local function run(tag, args)
  local id, process = unpack(args)
  local graph = graphs.read(tag, id)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  if not graph.ended and process ~= '' then graphs.watch(tag, id, graph, process) end
  return { 'ok', graph.state, graph.ended or '', work.is_parked(tag, id) and '1' or '' }
end
