--- Run the failed part of a graph again: failures that count, and members skipped because of them.
--- @key tag the partition
--- @arg id @arg request id of this call @arg reason
--- @ok running
--- @no graph_not_found | graph_not_finished | nothing_to_replay
--- @event replayed
--- @flags write @owned graph
--- @requires lib/core/clock lib/core/reply lib/graph/graphs lib/graph/reopen
--- @requires lib/execution/children

local function run(tag, args)
  local id, request, reason = unpack(args)
  local now = clock.now(tag)
  local graph = graphs.read(tag, id)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  if graphs.answered(tag, id, request) then return { 'ok', 'running' } end
  if not graph.ended then return reply.no('graph_not_finished', 'id', id, 'state', graph.state) end
  if tonumber(graph.bad or 0) == 0 then
    return reply.no('nothing_to_replay', 'id', id, 'state', graph.state)
  end

  graphs.note(tag, id, { at = now, event = 'replayed', request = request, reason = reason })
  local changes = { 'state', 'running', 'replays', tonumber(graph.replays or 0) + 1, 'reopening', graph.members }
  if graph.deadline_span then
    changes[#changes + 1] = 'deadline'
    changes[#changes + 1] = now + tonumber(graph.deadline_span)
  end
  graphs.write(tag, id, graph, changes)
  graphs.clear(tag, id, graph, { 'ended', 'due', 'mute', 'cancel', 'reason', 'cancelled', 'expired' })
  graphs.arm(tag, id, graph, now)
  if graph.bond and children.can_bind(tag, id, graph.tenant) then children.bind(tag, id, graph.born) end
  reopen.begin(tag, id, now)
  return { 'ok', 'running' }
end
