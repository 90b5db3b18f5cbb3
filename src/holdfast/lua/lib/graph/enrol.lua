--- Adds executions to a graph as members. An item has the fields of a new execution, `graph`, the fields
--- that lib/graph/members.lua lists, and its edges as `outs` and `inns`, if it has any.
--- @requires lib/limit/limits lib/core/stamps lib/core/keys lib/execution/birth lib/core/index
--- @requires lib/execution/ready lib/core/settings lib/core/timers lib/graph/members lib/core/reply
--- @requires lib/core/record lib/core/brief
local enrol = {}

local OF_MEMBER = { 'graph', 'ins', 'need', 'lax', 'losers', 'hears', 'inputs' }

--- Unpack the items, each followed by its input, from `args[first]` on.
function enrol.items(args, first)
  local items = {}
  for i = first, #args, 2 do items[#items + 1] = cmsgpack.unpack(args[i]) end
  return items
end

--- A refusal if an id is taken or a lane accepts nothing, else nil. Members staged by this graph do not
--- count as taken.
function enrol.refusal(tag, graph, items)
  local lanes, records = {}, {}
  for _, item in ipairs(items) do
    if lanes[item.lane] == nil then lanes[item.lane] = settings.lane(tag, item.lane) end
    if lanes[item.lane] == 'draining' then return reply.no('lane_draining', 'lane', item.lane) end
    records[#records + 1] = keys.record(tag, item.id)
  end
  -- Most are new, which one question tells.
  if #records == 0 or server.call('EXISTS', unpack(records)) == 0 then return nil end
  for _, item in ipairs(items) do
    local found = record.get(tag, item.id, 'state', 'graph')
    if found[1] and not (found[1] == 'staged' and found[2] == graph) then
      return reply.no('id_conflict', 'id', item.id)
    end
  end
  return nil
end

--- The record of a new member: it waits for its upstreams, and while staged for its graph.
local function compose_member(item, now, born, priority_us, staged)
  local rec = birth.compose(item, now, born, priority_us)
  for _, name in ipairs(OF_MEMBER) do rec[name] = item[name] end
  if rec.ins or staged then
    rec.state = staged and 'staged' or 'waiting_children'
    rec.hold, rec.due = nil, nil
    rec.delay, rec.run_at = item.delay, item.run_at
  end
  if staged then rec.deadline = nil end
  return rec
end

-- Fields of an item about which nothing is particular, with whether its record has them.
local PLAIN = {
  tenant = true, lane = true, kind = true, requires = true, retry = true, give_up = true, max_reclaims = true,
  max_replays = true, trace = true, graph = true, ins = true, need = true, inputs = true,
  id = false, outs = false, inns = false,
}

--- Write a new member about which nothing is particular; returns its record, of which the item is a part. Nil if
--- it is another.
local function store_plain(tag, item, born, staged, input, inputs)
  local fields, size = {}, 0
  for name, value in pairs(item) do
    local kept = PLAIN[name]
    if kept == nil then return nil end
    if kept then
      fields[size + 1], fields[size + 2] = name, value
      size = size + 2
    end
  end
  item.born, item.state = born, staged and 'staged' or item.ins and 'waiting_children' or 'waiting'
  birth.put_input(tag, item.id, input, inputs, fields)
  server.call(
    'HSET', keys.record(tag, item.id), 'state', item.state, 'plain', '3', 'born', born, unpack(fields)
  )
  return item
end

local function put_ends(edges, name, ends)
  if not ends then return end
  edges[#edges + 1] = name
  edges[#edges + 1] = cmsgpack.pack(ends)
end

--- List and start members that are not staged.
local function admit(tag, made, now)
  local ready_now = {}
  for _, one in ipairs(made) do
    local id, rec = one[1], one[2]
    if rec.state == 'waiting' then ready_now[#ready_now + 1] = one end
    if rec.due or rec.deadline then timers.arm(tag, id, rec, now) end
  end
  index.move_many(tag, made)
  ready.add_many(tag, ready_now)
end

--- Add members; returns how many are new. `args` has their inputs, the first at `first`.
function enrol.add(tag, graph, items, args, first, now, staged)
  local stamp, priority_us = stamps.next(tag, now), settings.priority_us(tag)
  local ruled = settings.has_rules(tag)
  local made, scored, edges, inputs, memory = {}, {}, {}, {}, {}
  for n, item in ipairs(items) do
    if not staged or server.call('EXISTS', keys.record(tag, item.id)) == 0 then
      local size = #made
      local born, input = brief.stamp(stamp + size, memory), args[first + 2 * n - 2]
      if ruled then item.limits = limits.resolve(tag, item) end
      local rec = store_plain(tag, item, born, staged, input, inputs)
      if not rec then
        rec = compose_member(item, now, stamp + size, priority_us, staged)
        birth.store(tag, item.id, rec, item, input, inputs)
      end
      made[size + 1] = { item.id, rec }
      scored[2 * size + 1], scored[2 * size + 2] = born, item.id
      local key = members.key(graph, item.id)
      put_ends(edges, '>' .. key, item.outs)
      put_ends(edges, '<' .. key, item.inns)
    end
  end
  if #made == 0 then return 0 end
  stamps.take(tag, stamp + #made - 1)
  if #inputs > 0 then server.call('MSET', unpack(inputs)) end
  server.call('ZADD', keys.graph_members(tag, graph), unpack(scored))
  if #edges > 0 then server.call('HSET', keys.graph_edges(tag, graph), unpack(edges)) end
  if not staged then admit(tag, made, now) end
  return #made
end
