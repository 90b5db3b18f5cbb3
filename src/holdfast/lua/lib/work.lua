--- What a graph has to do, in steps that a call may do some of. A call that ends a member does what
--- follows at once, up to its allowance; the rest is parked in the graph's work list, a durable queue
--- of `VERB OFFSET ID`, and its timer goes on. `handlers` has a function for each verb: it gets the
--- list and the item, uses up the allowance (`left`) and returns the offset to go on from, or nil when
--- it is done. An item may turn into one of another verb.
--- @requires lib/keys lib/timers lib/graphs
local work = { handlers = {} }

--- About a millisecond for the caller who ends a member, and a few for a timer.
work.AT_ONCE, work.BY_TIMER = 100, 400

function work.new(tag, graph, now, left)
  return { tag = tag, graph = graph, now = now, left = left, first = 1, last = 0 }
end

--- Add an item; `rec` is its record, if the caller has it.
function work.add(list, verb, id, rec)
  list.last = list.last + 1
  list[list.last] = { verb = verb, id = id, offset = 0, rec = rec }
end

--- The next item: of this call, else of the parked ones.
local function take_item(list)
  local item = list[list.first]
  if item then
    list[list.first] = nil
    list.first = list.first + 1
    return item
  end
  local parked = list.parked and server.call('LPOP', keys.graph_work(list.tag, list.graph))
  if not parked then return nil end
  local verb, offset, id = parked:match('^(%S+) (%d+) (.*)$')
  return { verb = verb, offset = tonumber(offset), id = id, parked = true }
end

--- Park an item. The member whose end is not told to all yet says how far that is.
local function park(list, item, verb)
  local text = item.verb .. ' ' .. item.offset .. ' ' .. item.id
  server.call(verb, keys.graph_work(list.tag, list.graph), text)
  if item.verb == 'tell' then
    server.call('HSET', keys.record(list.tag, item.id), 'told', item.offset)
  end
end

--- Begin a sweep over the whole graph, after whatever is under way.
function work.sweep(list, verb)
  park(list, { verb = verb, offset = 0, id = '' }, 'RPUSH')
  work.run(list, true)
end

--- Do what the allowance permits, park the rest, and end the graph if nothing remains. With `parked`
--- the items of earlier calls are done, too.
function work.run(list, parked)
  list.parked = parked
  local item = take_item(list)
  while item and list.left > 0 do
    item.offset = work.handlers[item.verb](list, item)
    if not item.offset then item = take_item(list) end
  end
  if item then park(list, item, item.parked and 'LPUSH' or 'RPUSH') end
  for i = list.first, list.last do park(list, list[i], 'RPUSH') end
  if server.call('EXISTS', keys.graph_work(list.tag, list.graph)) == 1 then
    timers.set(list.tag, 'g:' .. list.graph, list.now, list.now)
  elseif tonumber(server.call('HGET', keys.graph(list.tag, list.graph), 'open')) == 0 then
    graphs.finish(list.tag, list.graph, list.now)
  elseif parked then
    graphs.arm(list.tag, list.graph, graphs.read(list.tag, list.graph), list.now)
  end
end
