--- Ends of members of graphs with a result, while nothing else about them is particular (`plain` is 3): most ends
--- of members are. Lists, timers and counts are written once for a call. Everything else that the call does to
--- executions comes after `write`, so that the moves of each are in their order.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/cohorts lib/stream/carried
--- @requires lib/graph/members lib/graph/starts lib/graph/work
local member_ends = {}

--- What the ends of one call have in common; `bounds` remembers those of tenants.
function member_ends.open(tag, now, bounds)
  return {
    tag = tag, now = now, now_text = tostring(now), bounds = bounds,
    cohorts = {}, timers = {}, size = 0, graphs = {}, starts = starts.new(tag),
  }
end

--- What ends need of a graph. One that is being ended or replayed, or has losers, is particular.
local function graph_of(ends, id)
  local graph = ends.graphs[id]
  if graph then return graph end
  local mute, lost, reopening, open =
    unpack(server.call('HMGET', keys.graph(ends.tag, id), 'mute', 'lost', 'reopening', 'open'))
  graph = { id = id, open = tonumber(open or nil), ended = 0 }
  graph.is_particular = mute or lost or reopening or not graph.open
  ends.graphs[id] = graph
  return graph
end

--- Go on with the work of a graph that is not done here: pass on the end of a member from an offset on, or end
--- the graph.
local function work_on(ends, graph, id, offset)
  local list = work.new(ends.tag, graph.id, ends.now, work.AT_ONCE)
  list.open, list.lost = graph.open, false
  if id then work.add(list, 'tell', id, { state = 'completed' }, offset) end
  work.run(list)
end

--- Pass on the end of a member along its out-edges.
local function tell(ends, graph, id)
  local edges = members.outs(ends.tag, graph.id, members.key(graph.id, id))
  local far = #edges > 2 * work.AT_ONCE
  for i = 1, #edges, 2 do
    if far or not starts.meet(ends.starts, members.id(graph.id, edges[i])) then
      member_ends.write(ends)
      return work_on(ends, graph, id, (i - 1) / 2)
    end
  end
end

local function write_result(ends, id, key, result, content_type)
  if content_type == '' and record.is_inline(result) then
    server.call('HSET', key, 'state', 'completed', 'ended', ends.now_text, 'result', result)
  else
    local changes = { 'state', 'completed', 'ended', ends.now_text }
    record.put_result(ends.tag, id, result, content_type, changes)
    server.call('HSET', key, unpack(changes))
  end
  -- It is kept as long as its graph.
  server.call('HDEL', key, 'due')
end

--- End a member, if the holder of this fence may. Returns whether it has.
function member_ends.complete(ends, id, fence, result, content_type, last)
  local tag = ends.tag
  local key = keys.record(tag, id)
  local found =
    server.call('HMGET', key, 'fence', 'state', 'plain', 'due', 'tenant', 'lane', 'kind', 'born', 'graph')
  if found[1] ~= fence or found[2] ~= 'active' or found[3] ~= '3' then return false end
  if tonumber(found[4]) <= ends.now then return false end
  local graph = graph_of(ends, found[9])
  if graph.is_particular then return false end
  if last then carried.conclude(tag, id, carried.holder(tag, id, found[5]), last, ends.now, ends.bounds) end
  write_result(ends, id, key, result, content_type)
  cohorts.add(cohorts.of(ends.cohorts, found[5], found[6], found[7]), id, found[8])
  ends.size = ends.size + 1
  ends.timers[ends.size] = 'x:' .. id
  graph.open, graph.ended = graph.open - 1, graph.ended + 1
  -- All others have ended, too.
  if graph.open > 0 then tell(ends, graph, id) end
  return true
end

--- Write what the ends so far have in common, and end the graphs without open members.
function member_ends.write(ends)
  if ends.size == 0 then return end
  local tag, graphs = ends.tag, ends.graphs
  for _, cohort in ipairs(ends.cohorts) do index.shift(tag, cohort, 'active', 'completed') end
  server.call('ZREM', keys.timers(tag), unpack(ends.timers))
  for id, graph in pairs(graphs) do
    if graph.ended > 0 then server.call('HINCRBY', keys.graph(tag, id), 'open', -graph.ended) end
  end
  ends.cohorts, ends.timers, ends.size, ends.graphs = {}, {}, 0, {}
  starts.write(ends.starts)
  for _, graph in pairs(graphs) do
    if graph.ended > 0 and graph.open == 0 then work_on(ends, graph) end
  end
end
