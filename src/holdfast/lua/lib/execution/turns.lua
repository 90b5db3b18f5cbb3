--- A lane during one claim: which tenant has its turn, and which execution is next. Data is read on
--- demand, kept in tables, and written once at the end, so the number of calls in a claim depends on
--- the routes it touches, not on the executions it takes.
---
--- A seat is a tenant with work on the lane, in the order of its pass. A stack is the ready set of a
--- tenant on one route, in the order of its first execution, by rank. Routes whose tenants are not all
--- read yet are kept by the last that was: a tenant behind it has no lesser pass. (Equal passes go by
--- name, as the server's locale compares names; in most servers that is the order of sorted sets.)
--- @requires lib/core/keys lib/execution/ready lib/execution/heap lib/core/settings
local turns = {}

-- Tenants of a route that are read at once.
local TENANTS = 32
-- Executions of a tenant that shares the lane that are read first, if it has one route.
local FEW = 4
-- Values in a call; Lua cannot pass many more.
local MOST_VALUES = 1000

--- The passes of those tenants that have no seat yet.
local function passes_of(tag, view, rows)
  local strangers, passes = {}, {}
  for i = 1, #rows, 2 do
    if not view.seats[rows[i]] then strangers[#strangers + 1] = rows[i] end
  end
  if #strangers > 0 then
    local values = server.call('HMGET', keys.pass(tag, view.lane), unpack(strangers))
    for i, tenant in ipairs(strangers) do passes[tenant] = tonumber(values[i] or 0) end
  end
  return passes
end

--- Seat tenants of a route; `rows` is tenant and turn of each.
local function seat(tag, view, route, rows)
  local passes = passes_of(tag, view, rows)
  for i = 1, #rows, 2 do
    local tenant, copy = rows[i], tonumber(rows[i + 1])
    local one = view.seats[tenant]
    if not one then
      one = { name = tenant, key = math.max(copy, passes[tenant]), stacks = {}, unread = {} }
      view.seats[tenant] = one
    end
    if not one.seated then heap.push(view.order, one) end
    one.seated = true
    local key = keys.ready(tag, route.route, tenant)
    local stack = { seat = one, route = route, ready = key, copy = copy, read = 0, taken = 0, more = true }
    route.stacks[#route.stacks + 1] = stack
    one.unread[#one.unread + 1] = stack
  end
end

--- Read the next tenants of a route.
local function read_tenants(tag, view, route)
  local first = #route.stacks
  local rows =
    server.call('ZRANGE', keys.turns(tag, route.route), first, first + TENANTS - 1, 'WITHSCORES')
  seat(tag, view, route, rows)
  if #rows < 2 * TENANTS then return end
  route.name, route.key = rows[#rows - 1], tonumber(rows[#rows])
  heap.push(view.unread, route)
end

--- A lane with ready work; `places` are its open routes, `only` restricts it to one tenant.
function turns.open(tag, lane, places, only, most)
  local view = { lane = lane, routes = {}, seats = {}, order = {}, unread = {}, most = most }
  for i, place in ipairs(places) do
    local route = { lane = lane, place = place, route = ready.route(lane, place), stacks = {} }
    view.routes[i] = route
    if only then
      local copy = server.call('ZSCORE', keys.turns(tag, route.route), only)
      if copy then seat(tag, view, route, { only, copy }) end
    else
      read_tenants(tag, view, route)
    end
  end
  return view
end

--- The seat whose turn it is.
local function first_seat(tag, view)
  while view.unread[1] do
    local one = view.order[1]
    if one and not heap.before(view.unread[1], one) then break end
    read_tenants(tag, view, heap.pop(view.unread))
  end
  return view.order[1]
end

--- Read on in the stacks of a seat that have nothing left to show.
local function read_stacks(view, one)
  local alone = #view.order == 1 and #view.unread == 0
  -- The rank of the first of one stack alone was of no use so far.
  local first = one.stacks[1]
  if first then first.key = tonumber(first.rows[first.at + 1]) end
  -- One more than it should need, so that the next is known.
  local share = math.ceil((alone and view.most or FEW) / #one.unread) + 1
  for _, stack in ipairs(one.unread) do
    local size = stack.size or share
    stack.rows = server.call('ZRANGE', stack.ready, stack.read, stack.read + size - 1, 'WITHSCORES')
    stack.read = stack.read + #stack.rows / 2
    stack.more = #stack.rows == 2 * size
    stack.size = 2 * size
    stack.at = 1
    if #stack.rows > 0 then
      stack.name, stack.key = stack.rows[1], tonumber(stack.rows[2])
      heap.push(one.stacks, stack)
    end
  end
  one.unread = {}
end

--- Take the first execution of a seat; returns it and the stack that it is from.
local function take(one)
  local stack = one.stacks[1]
  local id = stack.name
  stack.taken = stack.taken + 1
  stack.at = stack.at + 2
  stack.name = stack.rows[stack.at]
  if stack.name and one.stacks[2] then
    stack.key = tonumber(stack.rows[stack.at + 1])
    heap.sink(one.stacks)
  elseif not stack.name then
    heap.pop(one.stacks)
    if stack.more then one.unread[#one.unread + 1] = stack end
  end
  return id, stack
end

--- The id of the next execution, and the stack that it is from; charges it to its tenant. Nil when nothing
--- is ready.
function turns.next(tag, view)
  while true do
    local one = first_seat(tag, view)
    if not one then return nil end
    if #one.unread > 0 then read_stacks(view, one) end
    if #one.stacks > 0 then
      one.weight = one.weight or settings.weight(tag, view.lane, one.name)
      view.clock = one.key
      one.key = one.key + 1 / one.weight
      local id, stack = take(one)
      heap.sink(view.order)
      return id, stack
    end
    heap.pop(view.order).seated = false
  end
end

--- Remove the taken executions from a ready set; returns whether it is empty.
local function close_stack(stack)
  if stack.taken > 0 then server.call('ZREMRANGEBYRANK', stack.ready, 0, stack.taken - 1) end
  if not stack.rows or stack.taken < stack.read then return false end
  return not stack.more or server.call('EXISTS', stack.ready) == 0
end

--- Call with many values, in parts.
local function call_with(name, key, values)
  for i = 1, #values, MOST_VALUES do
    server.call(name, key, unpack(values, i, math.min(i + MOST_VALUES - 1, #values)))
  end
end

--- Empty the ready sets of a route, and end turns without work. Turns that lag are only corrected
--- where they are in the way: on a route with more tenants than are read at once. Returns whether no
--- tenant has a turn any more.
local function close_route(tag, route)
  local left, moved = {}, {}
  local crowded = #route.stacks >= TENANTS
  for _, stack in ipairs(route.stacks) do
    if close_stack(stack) then
      left[#left + 1] = stack.seat.name
    elseif crowded and stack.seat.key > stack.copy then
      moved[#moved + 1] = stack.seat.key
      moved[#moved + 1] = stack.seat.name
    end
  end
  local name = keys.turns(tag, route.route)
  call_with('ZADD', name, moved)
  call_with('ZREM', name, left)
  return #left > 0 and server.call('EXISTS', name) == 0
end

--- Write the taken executions, and their cost.
function turns.close(tag, view)
  if not view.clock then return end
  local closed = {}
  for _, route in ipairs(view.routes) do
    if close_route(tag, route) then closed[#closed + 1] = route.place end
  end
  if ready.close(tag, view.lane, closed) then return end
  local passes = keys.pass(tag, view.lane)
  local clock = tonumber(server.call('HGET', passes, ready.CLOCK) or 0)
  local values = { ready.CLOCK, math.max(clock, view.clock) }
  for tenant, one in pairs(view.seats) do
    if one.weight then
      values[#values + 1] = tenant
      values[#values + 1] = one.key
    end
  end
  call_with('HSET', passes, values)
end
