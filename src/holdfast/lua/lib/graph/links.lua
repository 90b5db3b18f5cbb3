--- New edges at members that exist: a flat list of from, on, input, to.
--- @requires lib/core/keys lib/core/record lib/core/reply lib/core/index lib/execution/ready
--- @requires lib/core/timers lib/graph/members lib/graph/work lib/limit/limits
local links = {}

--- Whether a member accepts new upstreams: it waits for others, or has none and has not started.
local function takes_upstreams(rec)
  if rec.state == 'waiting_children' then return true end
  return not rec.ins and not rec.attempts and (rec.state == 'waiting' or rec.state == 'delayed')
end

local function unknown(graph, key)
  return reply.no('invalid_graph', 'id', graph, 'problem', 'unknown_member', 'member', key)
end

--- A refusal if an end of an edge is not a member, or its target has started; else nil.
function links.refusal(tag, graph, made, items)
  local new = {}
  for _, item in ipairs(items) do new[item.id] = true end
  for i = 1, #made, 4 do
    local from, to = members.id(graph, made[i]), members.id(graph, made[i + 3])
    if not new[from] and server.call('EXISTS', keys.record(tag, from)) == 0 then
      return unknown(graph, made[i])
    end
    if not new[to] then
      local rec = record.read(tag, to)
      if not rec then return unknown(graph, made[i + 3]) end
      if not takes_upstreams(rec) then
        return reply.no('member_started', 'id', graph, 'member', made[i + 3], 'state', rec.state)
      end
    end
  end
  return nil
end

local function append(tag, graph, sign, key, ...)
  local edges = sign == '>' and members.outs(tag, graph, key) or members.ins(tag, graph, key)
  for i = 1, select('#', ...) do edges[#edges + 1] = (select(i, ...)) end
  server.call('HSET', keys.graph_edges(tag, graph), sign .. key, cmsgpack.pack(edges))
end

--- Give an existing member one more upstream.
local function expect(list, to, on, input)
  local tag, id = list.tag, members.id(list.graph, to)
  local rec = record.read(tag, id)
  local before = rec.state
  local changes = { 'ins', tonumber(rec.ins or 0) + 1 }
  if not rec.lax then
    changes[3], changes[4] = 'need', tonumber(rec.need or 0) + 1
  end
  if on ~= 's' then changes[#changes + 1], changes[#changes + 2] = 'hears', '1' end
  if input ~= '' then changes[#changes + 1], changes[#changes + 2] = 'inputs', '1' end
  if before == 'waiting' then ready.remove(tag, id, rec) end
  if rec.limited then limits.leave(tag, id, rec, before, list.now) end
  if before == 'delayed' then changes[#changes + 1], changes[#changes + 2] = 'run_at', rec.due end
  -- A member that its graph has not started yet stays that way.
  if before ~= 'waiting_children' then
    changes[#changes + 1], changes[#changes + 2] = 'state', 'waiting_children'
  end
  record.write(tag, id, rec, changes)
  if before ~= 'waiting_children' then
    record.clear(tag, id, rec, { 'hold', 'due', 'woken' })
    index.move(tag, id, rec, before)
    timers.arm(tag, id, rec, list.now)
  end
end

--- Add the edges. Those of an upstream that has ended are resolved, too, unless its end is still being
--- passed on, which then includes them.
function links.join(list, made)
  local tag, graph = list.tag, list.graph
  local resumed = {}
  for i = 1, #made, 4 do
    local from, on, input, to = made[i], made[i + 1], made[i + 2], made[i + 3]
    local edges = members.ins(tag, graph, to)
    local known = false
    for j = 1, #edges, 3 do known = known or edges[j] == from end
    -- A new member already has its edges.
    if not known then
      append(tag, graph, '<', to, from, on, input)
      expect(list, to, on, input)
    end
    local outs = members.outs(tag, graph, from)
    local listed = false
    for j = 1, #outs, 2 do listed = listed or outs[j] == to end
    if not listed then
      append(tag, graph, '>', from, to, on)
      local id = members.id(graph, from)
      local upstream = members.look(tag, id)
      if record.is_terminal(upstream.state) and not upstream.told and not resumed[id] then
        resumed[id] = true
        work.add(list, 'tell', id, upstream, #outs / 2)
      end
    end
  end
end
