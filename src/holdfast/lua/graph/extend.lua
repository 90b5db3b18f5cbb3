--- Add members and edges to a graph whose shape the caller knows. The caller has checked that they form
--- no cycle; the version proves that the graph has not changed since.
--- @key tag the partition
--- @arg id @arg request id of this call @arg version the expected one
--- @arg links in msgpack: from, on, input, to of each edge that joins an existing member
--- @arg items per new member two values: its fields in msgpack, its input
--- @ok VERSION
--- @no graph_not_found | graph_finished | stale_graph_revision | invalid_graph | member_started
--- @no id_conflict | lane_draining
--- @event extended
--- @flags write @owned graph
--- @requires lib/core/clock lib/core/reply lib/graph/graphs lib/graph/enrol lib/graph/links
--- @requires lib/graph/work

local MOST_MEMBERS = 10000

local function refuse(tag, id, graph, version, links_made, items)
  if not graph then return reply.no('graph_not_found', 'id', id) end
  if graph.ended or graph.cancel or graph.expired then
    return reply.no('graph_finished', 'id', id, 'state', graph.state)
  end
  if graph.revision ~= version then
    return reply.no('stale_graph_revision', 'id', id, 'revision', graph.revision)
  end
  if tonumber(graph.members) + #items > MOST_MEMBERS then
    return reply.no('invalid_graph', 'id', id, 'problem', 'too_many_members', 'member', '')
  end
  return enrol.refusal(tag, id, items) or links.refusal(tag, id, links_made, items)
end

local function run(tag, args)
  local id, request, version, packed = unpack(args, 1, 4)
  local now = clock.now(tag)
  local items, made = enrol.items(args, 5), cmsgpack.unpack(packed)
  local graph = graphs.read(tag, id)
  local answered = graph and graphs.answered(tag, id, request)
  if answered then return { 'ok', answered.revision } end
  local refusal = refuse(tag, id, graph, version, made, items)
  if refusal then return refusal end

  local next_version = tonumber(version) + 1
  local added = enrol.add(tag, id, items, args, 6, now)
  graphs.write(tag, id, graph, {
    'revision', next_version,
    'members', tonumber(graph.members) + added,
    'open', tonumber(graph.open) + added,
  })
  local entry = { at = now, event = 'extended', request = request, revision = next_version }
  graphs.note(tag, id, entry)
  local list = work.new(tag, id, now, graph.reopening and 0 or work.AT_ONCE)
  links.join(list, made)
  work.run(list)
  return { 'ok', next_version }
end
