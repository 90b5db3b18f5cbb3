--- Ready work. A route is a lane and the capabilities its work requires. Inside a route every
--- tenant with ready work has a turn, scored by its virtual time (its pass); inside a tenant work
--- is ordered by rank: birth, moved ahead by priority.
---
--- A tenant's pass belongs to the lane and lives while the lane has ready work anywhere; a turn is
--- a copy of it, which may lag when the tenant was served on another route of the lane. Claims
--- correct a lagging turn when they meet it. An idle lane forgets all passes: nobody contended.
--- @requires lib/keys lib/wake
local ready = {}

-- The lane's virtual clock, a field beside the tenants' passes; no tenant can have this name.
local CLOCK = '|'

function ready.route(lane, requires) return lane .. '|' .. requires end

--- Give a tenant its turn on a route, unless it has one, and wake whoever waits for work.
local function join(tag, lane, requires, tenant)
  local turns = keys.turns(tag, ready.route(lane, requires))
  if server.call('ZSCORE', turns, tenant) then return end
  server.call('SADD', keys.routes(tag, lane), requires)
  local pass = server.call('HMGET', keys.pass(tag, lane), tenant, CLOCK)
  server.call('ZADD', turns, math.max(tonumber(pass[1] or 0), tonumber(pass[2] or 0)), tenant)
  wake.lane(tag, lane)
end

--- Make an execution claimable.
function ready.add(tag, id, rec)
  local requires = rec.requires or ''
  local key = keys.ready(tag, ready.route(rec.lane, requires), rec.tenant)
  server.call('ZADD', key, rec.rank or rec.born, id)
  join(tag, rec.lane, requires, rec.tenant)
end

--- The same for several; `many` is a list of { id, rec }.
function ready.add_many(tag, many)
  local groups = {}
  for _, one in ipairs(many) do
    local id, rec = one[1], one[2]
    local key = keys.ready(tag, ready.route(rec.lane, rec.requires or ''), rec.tenant)
    local group = groups[key] or { rec = rec, scored = {} }
    groups[key] = group
    group.scored[#group.scored + 1] = rec.rank or rec.born
    group.scored[#group.scored + 1] = id
  end
  for key, group in pairs(groups) do
    server.call('ZADD', key, unpack(group.scored))
    join(tag, group.rec.lane, group.rec.requires or '', group.rec.tenant)
  end
end

--- After work was taken: a tenant without ready work loses its turn, a route without turns goes,
--- and with the last route of a lane its passes.
local function settle(tag, lane, requires, tenant)
  local route = ready.route(lane, requires)
  if server.call('EXISTS', keys.ready(tag, route, tenant)) == 1 then return true end
  local turns = keys.turns(tag, route)
  server.call('ZREM', turns, tenant)
  if server.call('EXISTS', turns) == 1 then return false end
  local routes = keys.routes(tag, lane)
  server.call('SREM', routes, requires)
  if server.call('EXISTS', routes) == 0 then server.call('DEL', keys.pass(tag, lane)) end
  return false
end

--- Take an execution out, if it is in.
function ready.remove(tag, id, rec)
  local requires = rec.requires or ''
  local key = keys.ready(tag, ready.route(rec.lane, requires), rec.tenant)
  if server.call('ZREM', key, id) == 1 then settle(tag, rec.lane, requires, rec.tenant) end
end

--- Change the rank of an execution that is ready.
function ready.rerank(tag, id, rec)
  local key = keys.ready(tag, ready.route(rec.lane, rec.requires or ''), rec.tenant)
  server.call('ZADD', key, 'XX', rec.rank, id)
end

--- The tenant whose turn it is on a route: name, pass, and how far ahead the next tenant's pass is.
--- `only` restricts the look to one tenant. Nil when nobody has work.
function ready.turn(tag, lane, requires, only)
  local turns = keys.turns(tag, ready.route(lane, requires))
  local passes = keys.pass(tag, lane)
  if only then
    local copy = server.call('ZSCORE', turns, only)
    if not copy then return nil end
    return only, math.max(tonumber(copy), tonumber(server.call('HGET', passes, only) or 0)), math.huge
  end
  while true do
    local heads = server.call('ZRANGE', turns, 0, 1, 'WITHSCORES')
    if #heads == 0 then return nil end
    local tenant, copy = heads[1], tonumber(heads[2])
    local pass = tonumber(server.call('HGET', passes, tenant) or 0)
    if pass <= copy then return tenant, copy, heads[4] and tonumber(heads[4]) - copy or math.huge end
    server.call('ZADD', turns, pass, tenant)
  end
end

--- The rank of a tenant's first execution on a route.
function ready.head_rank(tag, lane, requires, tenant)
  local key = keys.ready(tag, ready.route(lane, requires), tenant)
  return tonumber(server.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
end

--- Take up to `count` executions of a tenant and charge them to its pass.
function ready.take(tag, lane, requires, tenant, pass, weight, count)
  local route = ready.route(lane, requires)
  local popped = server.call('ZPOPMIN', keys.ready(tag, route, tenant), count)
  local taken = {}
  for i = 1, #popped, 2 do taken[#taken + 1] = popped[i] end
  local moved = pass + #taken / weight
  local passes = keys.pass(tag, lane)
  local clock = tonumber(server.call('HGET', passes, CLOCK) or 0)
  server.call('HSET', passes, tenant, moved, CLOCK, math.max(pass, clock))
  if settle(tag, lane, requires, tenant) then server.call('ZADD', keys.turns(tag, route), moved, tenant) end
  return taken
end
