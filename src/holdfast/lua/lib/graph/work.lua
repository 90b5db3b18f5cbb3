--- The work of a graph, in steps. A call that ends a member does the resulting work immediately, up to
--- its allowance; the rest is parked in the graph's lists, durable queues of `VERB OFFSET ID`, and its
--- timer continues it. `handlers` has a function for each verb: it gets the list and the item, uses up
--- the allowance (`left`) and returns the offset to continue from, or nil when it is done. An item may
--- turn into one of another verb.
---
--- Walks come last, after all other work of the graph, that of earlier calls included: they cancel
--- losers, and an end that is still to be heard may decide a loser in another way.
--- @requires lib/core/keys lib/core/timers lib/graph/graphs
local work = { handlers = {} }

--- About a millisecond for the caller that ends a member, and a few for a timer.
work.AT_ONCE, work.BY_TIMER = 100, 400

local function queue() return { first = 1, last = 0 } end

function work.new(tag, graph, now, left)
  return { tag = tag, graph = graph, now = now, left = left, work = queue(), walks = queue() }
end

--- Add an item; `rec` is its record, if the caller has it.
function work.add(list, verb, id, rec, offset)
  local items = verb == 'walk' and list.walks or list.work
  items.last = items.last + 1
  items[items.last] = { verb = verb, id = id, offset = offset or 0, rec = rec }
end

--- The first item of a queue of this call, else of the parked one at `key`, or nil.
local function shift(list, items, key)
  local item = items[items.first]
  if item then
    items[items.first] = nil
    items.first = items.first + 1
    return item
  end
  local parked = list.parked and server.call('LPOP', key)
  if not parked then return nil end
  local verb, offset, id = parked:match('^(%S+) (%d+) (.*)$')
  return { verb = verb, offset = tonumber(offset), id = id, parked = true }
end

--- The next item, or nil if none is left, the rest must wait for work that is parked, or the allowance is used up:
--- what is parked stays as it is then, because parking it once more would revive an end that a replay made void.
local function take_item(list)
  if list.left <= 0 then return nil end
  local key = keys.graph_work(list.tag, list.graph)
  local item = shift(list, list.work, key)
  if item then return item end
  local walks = list.walks
  if not list.parked and (walks.first > walks.last or server.call('EXISTS', key) == 1) then return nil end
  return shift(list, walks, keys.graph_walks(list.tag, list.graph))
end

--- Park an item. A member whose end was not passed on to all edges yet stores the offset.
local function park(list, item, push)
  list.has_parked = true
  local key = item.verb == 'walk' and keys.graph_walks or keys.graph_work
  server.call(push, key(list.tag, list.graph), item.verb .. ' ' .. item.offset .. ' ' .. item.id)
  if item.verb == 'tell' then
    server.call('HSET', keys.record(list.tag, item.id), 'told', item.offset)
  end
end

local function park_rest(list, items)
  for i = items.first, items.last do park(list, items[i], 'RPUSH') end
end

--- Whether a graph has parked work.
function work.is_parked(tag, graph)
  return server.call('EXISTS', keys.graph_work(tag, graph), keys.graph_walks(tag, graph)) > 0
end

--- Start a sweep over the whole graph, after the work under way.
function work.sweep(list, verb)
  park(list, { verb = verb, offset = 0, id = '' }, 'RPUSH')
  work.run(list, true)
end

--- Do as much as the allowance permits, park the rest, and end the graph if nothing remains. With
--- `parked`, also do the items of earlier calls.
function work.run(list, parked)
  list.parked = parked
  local item = take_item(list)
  while item and list.left > 0 do
    item.offset = work.handlers[item.verb](list, item)
    if not item.offset then item = take_item(list) end
  end
  if item then park(list, item, item.parked and 'LPUSH' or 'RPUSH') end
  park_rest(list, list.work)
  park_rest(list, list.walks)
  -- What an earlier call parked has its timer, and a graph with open members does not end.
  if not parked and not list.has_parked and list.open ~= 0 then return end
  if work.is_parked(list.tag, list.graph) then
    timers.set(list.tag, 'g:' .. list.graph, list.now, list.now)
  elseif tonumber(server.call('HGET', keys.graph(list.tag, list.graph), 'open')) == 0 then
    graphs.finish(list.tag, list.graph, list.now)
  elseif parked then
    graphs.rest(list.tag, list.graph, list.now)
  end
end
