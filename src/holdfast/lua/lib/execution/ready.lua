--- Ready work. A route is a lane, a kind and the capabilities its work requires. Inside a route every
--- tenant with ready work has a turn, scored by its virtual time (its pass); inside a tenant work
--- is ordered by rank: birth, moved ahead by priority.
---
--- A tenant's pass belongs to the lane and lives while the lane has ready work anywhere; a turn is
--- a copy of it, which may lag when the tenant was served on another route of the lane. Claims
--- correct a lagging turn when they meet it. An idle lane forgets all passes: there was no contention.
--- @requires lib/core/keys lib/core/wake
local ready = {}

-- The lane's virtual clock, a field beside the tenants' passes; no tenant can have this name.
ready.CLOCK = '|'

-- The routes of a lane that a count examines.
local MOST_ROUTES = 256

--- Where work waits on its lane: its kind, and what it requires.
function ready.place(rec) return rec.kind .. '|' .. (rec.requires or '') end

function ready.route(lane, place) return lane .. '|' .. place end

--- The ready set that an execution is in, or would be in.
function ready.set(tag, rec)
  return keys.ready(tag, ready.route(rec.lane, ready.place(rec)), rec.tenant)
end

--- Give a tenant its turn on a route, unless it has one, and wake the workers that wait for such work.
local function join(tag, rec)
  local lane, place, tenant = rec.lane, ready.place(rec), rec.tenant
  local turns = keys.turns(tag, ready.route(lane, place))
  if server.call('ZSCORE', turns, tenant) then return end
  server.call('ZADD', keys.routes(tag, lane), 0, place)
  local passes = keys.pass(tag, lane)
  local known = server.call('HMGET', passes, tenant, ready.CLOCK)
  local pass, clock = tonumber(known[1] or 0), tonumber(known[2] or 0)
  if clock > pass then
    -- The pass of a tenant is the same on all routes: a turn that waits elsewhere must not be ahead.
    pass = clock
    server.call('HSET', passes, tenant, pass)
  end
  server.call('ZADD', turns, pass, tenant)
  wake.lane(tag, lane, rec.kind)
end

--- Make an execution claimable.
function ready.add(tag, id, rec)
  server.call('ZADD', ready.set(tag, rec), rec.rank or rec.born, id)
  join(tag, rec)
end

--- The same for several; `many` is a list of { id, rec }.
function ready.add_many(tag, many)
  local groups = {}
  for _, one in ipairs(many) do
    local id, rec = one[1], one[2]
    local key = ready.set(tag, rec)
    local group = groups[key] or { rec = rec, scored = {} }
    groups[key] = group
    group.scored[#group.scored + 1] = rec.rank or rec.born
    group.scored[#group.scored + 1] = id
  end
  for key, group in pairs(groups) do
    server.call('ZADD', key, unpack(group.scored))
    join(tag, group.rec)
  end
end

--- The same for a cohort whose executions require nothing and are ranked by birth.
function ready.add_cohort(tag, cohort)
  server.call('ZADD', ready.set(tag, cohort), unpack(cohort.births))
  join(tag, cohort)
end

--- Remove routes without turns, and with the last route of a lane its passes. Returns whether the lane
--- is idle.
function ready.close(tag, lane, places)
  if #places == 0 then return false end
  local routes = keys.routes(tag, lane)
  server.call('ZREM', routes, unpack(places))
  if server.call('EXISTS', routes) == 1 then return false end
  server.call('DEL', keys.pass(tag, lane))
  return true
end

--- Take an execution out, if it is in. A tenant without ready work loses its turn.
function ready.remove(tag, id, rec)
  local key = ready.set(tag, rec)
  if server.call('ZREM', key, id) == 0 or server.call('EXISTS', key) == 1 then return end
  local place = ready.place(rec)
  local turns = keys.turns(tag, ready.route(rec.lane, place))
  server.call('ZREM', turns, rec.tenant)
  if server.call('EXISTS', turns) == 0 then ready.close(tag, rec.lane, { place }) end
end

--- Change the rank of an execution that is ready.
function ready.rerank(tag, id, rec) server.call('ZADD', ready.set(tag, rec), 'XX', rec.rank, id) end

--- The executions ahead of a ready one, of its tenant and with its requirements: kind, count of each
--- kind. Nil if it is not ready.
function ready.ahead(tag, id, rec)
  local before = server.call('ZRANK', ready.set(tag, rec), id)
  if not before then return nil end
  local ahead, requires = { rec.kind, before }, rec.requires or ''
  local least = '(' .. (rec.rank or rec.born)
  for _, place in ipairs(server.call('ZRANGE', keys.routes(tag, rec.lane), 0, MOST_ROUTES - 1)) do
    local kind, needs = place:match('^(.*)|(.*)$')
    if kind ~= rec.kind and needs == requires then
      local other = keys.ready(tag, ready.route(rec.lane, place), rec.tenant)
      ahead[#ahead + 1] = kind
      ahead[#ahead + 1] = server.call('ZCOUNT', other, '-inf', least)
    end
  end
  return ahead
end
