--- Cancel a graph: it accepts no more members, and this call and the graph's timer end its members.
--- @key tag the partition
--- @arg id @arg request id of this call @arg policy cancel_all, cancel_pending or leave @arg reason
--- @ok CANCELLED how many so far
--- @no graph_not_found | graph_finished
--- @event cancelled
--- @flags allow-oom @owned graph
--- @requires lib/core/clock lib/core/reply lib/graph/graphs lib/graph/work lib/graph/sweeps

local function run(tag, args)
  local id, request, policy, reason = unpack(args)
  local now = clock.now(tag)
  local graph = graphs.read(tag, id)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  if graphs.answered(tag, id, request) then return { 'ok', graph.cancelled } end
  if graph.ended or graph.cancel then
    return reply.no('graph_finished', 'id', id, 'state', graph.state)
  end

  local how = { policy = policy, reason = reason, request = request }
  sweeps.cancel(tag, id, graph, how, now, work.AT_ONCE)
  return { 'ok', graphs.read(tag, id).cancelled }
end
