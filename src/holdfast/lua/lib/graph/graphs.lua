--- The record of a graph: one hash.
---   tenant, born, state, digest, nonce, key   state is staging, running, completed, failed or
---     cancelled; a graph that was cancelled has ended when `ended` is set
---   revision   the version of its shape, under the name by which older releases read it
---   members, open, bad   how many there are, have not ended, ended with a failure that counts
---   deadline, deadline_span, keep, due   `due`: end of the staging, or of the retention
---   gone   its retention is over and some of its members are removed, so readers do not see it
---   held   how many of its members wait for the archive since then
---   mute   all or pending: members are being ended, so their ends are not passed on
---   cancel, reason, cancelled   policy and reason of a cancel, how many it ended; expired
---   on_end   the address of the webhook that announces its end
---   bond   of a graph that a task submitted, see lib/execution/children.lua
---   budgets   of all members, comma separated
---   reopening   a replay is under way: how many members there were before it
---   ended, replays, watched; lost: a member is or was kept for others though a join does without it
--- @requires lib/core/keys lib/core/timers lib/core/settings lib/core/wake lib/limit/outbox
local graphs = {}

local LONGEST_LOG = 200

--- All fields as a table, or nil if there is no such graph that readers may see.
function graphs.read(tag, id)
  local flat = server.call('HGETALL', keys.graph(tag, id))
  local graph = {}
  for i = 1, #flat, 2 do graph[flat[i]] = flat[i + 1] end
  if not graph.state or graph.state == 'staging' or graph.gone then return nil end
  return graph, flat
end

--- Set or clear the timer of a graph.
function graphs.arm(tag, id, graph, now)
  local deadline = not graph.ended and not graph.expired and tonumber(graph.deadline) or math.huge
  local due = math.min(deadline, tonumber(graph.due) or math.huge)
  if due < math.huge then
    timers.set(tag, 'g:' .. id, due, now)
  else
    server.call('ZREM', keys.timers(tag), 'g:' .. id)
  end
end

--- List a graph under its state.
function graphs.enter(tag, id, graph)
  server.call('ZADD', keys.graphs(tag, graph.tenant, graph.state), graph.born, id)
  server.call('SADD', keys.graph_tenants(tag), graph.tenant)
end

--- Remove a graph from the list of a state.
function graphs.leave(tag, id, graph, state)
  server.call('ZREM', keys.graphs(tag, graph.tenant, state), id)
  for _, other in ipairs({ 'running', 'completed', 'failed', 'cancelled' }) do
    if server.call('EXISTS', keys.graphs(tag, graph.tenant, other)) == 1 then return end
  end
  server.call('SREM', keys.graph_tenants(tag), graph.tenant)
end

--- Write `changes` (name, value pairs) to the store and to `graph`.
function graphs.write(tag, id, graph, changes)
  local before = graph.state
  server.call('HSET', keys.graph(tag, id), unpack(changes))
  for i = 1, #changes, 2 do graph[changes[i]] = changes[i + 1] end
  if graph.state ~= before then
    graphs.enter(tag, id, graph)
    graphs.leave(tag, id, graph, before)
  end
end

--- Remove those of `names` that `graph` has.
function graphs.clear(tag, id, graph, names)
  server.call('HDEL', keys.graph(tag, id), unpack(names))
  for _, name in ipairs(names) do graph[name] = nil end
end

--- Append an entry to the log of a graph; `entry` must have `at` and `event`.
function graphs.note(tag, id, entry)
  local key = keys.graph_log(tag, id)
  if server.call('RPUSH', key, cmsgpack.pack(entry)) > LONGEST_LOG then
    server.call('LTRIM', key, -LONGEST_LOG, -1)
  end
end

--- The newest log entry of a request, or nil.
function graphs.answered(tag, id, request)
  local packed = server.call('LRANGE', keys.graph_log(tag, id), 0, -1)
  for i = #packed, 1, -1 do
    local entry = cmsgpack.unpack(packed[i])
    if entry.request == request then return entry end
  end
  return nil
end

--- Notify a process when a graph ends, and when a cancel of it is done.
function graphs.watch(tag, id, graph, process)
  server.call('SADD', keys.graph_watchers(tag, id), process)
  if not graph.watched then graphs.write(tag, id, graph, { 'watched', '1' }) end
end

local function wake_watchers(tag, id, graph)
  if not graph.watched then return end
  for _, process in ipairs(server.call('SMEMBERS', keys.graph_watchers(tag, id))) do
    wake.process(tag, process, graph.state .. ' ' .. id)
  end
end

--- The work of a graph is done, though it has not ended: a cancel has ended all members it should end.
function graphs.rest(tag, id, now)
  local graph = graphs.read(tag, id)
  graphs.arm(tag, id, graph, now)
  if graph.cancel then wake_watchers(tag, id, graph) end
end

--- End a graph whose members have all ended; its timer is armed for its removal.
function graphs.finish(tag, id, now)
  local graph = graphs.read(tag, id)
  if not graph or graph.ended then return end
  local state = graph.cancel and 'cancelled' or tonumber(graph.bad or 0) > 0 and 'failed' or 'completed'
  local keep = tonumber(graph.keep or settings.keep(tag, graph.tenant, state))
  graphs.write(tag, id, graph, { 'state', state, 'ended', now, 'due', now + keep })
  graphs.note(tag, id, { at = now, event = 'ended', state = state })
  graphs.arm(tag, id, graph, now)
  if graph.on_end then outbox.put(tag, now, 'g', id, now) end
  -- lib/execution/bonds.lua
  if graph.bond then graphs.part(tag, id, graph, now) end
  if not graph.watched then return end
  wake_watchers(tag, id, graph)
  server.call('DEL', keys.graph_watchers(tag, id))
  graphs.clear(tag, id, graph, { 'watched' })
end
