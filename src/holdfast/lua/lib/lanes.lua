--- Whose turn it is over the open routes of several lanes.
--- @requires lib/keys lib/ready lib/settings
local lanes = {}

local function serves(capabilities, requires)
  for capability in requires:gmatch('[^,]+') do
    if not capabilities[capability] then return false end
  end
  return true
end

--- The routes with ready work that a worker with these capabilities may serve now.
function lanes.open_routes(tag, lanes_csv, capabilities_csv)
  local capabilities, routes = {}, {}
  for capability in capabilities_csv:gmatch('[^,]+') do capabilities[capability] = true end
  for lane in lanes_csv:gmatch('[^,]+') do
    if settings.lane(tag, lane) ~= 'paused' then
      for _, requires in ipairs(server.call('SMEMBERS', keys.routes(tag, lane))) do
        if serves(capabilities, requires) then routes[#routes + 1] = { lane = lane, requires = requires } end
      end
    end
  end
  return routes
end

--- Of several routes: the one whose tenant lags most behind its lane's clock, then the oldest work.
local function pick(tag, routes, only)
  local best
  for _, route in ipairs(routes) do
    local tenant, pass = ready.turn(tag, route.lane, route.requires, only)
    if tenant then
      local lead = pass - ready.lane_clock(tag, route.lane)
      local rank = ready.head_rank(tag, route.lane, route.requires, tenant)
      if not best or lead < best.lead or (lead == best.lead and rank < best.rank) then
        best = { route = route, tenant = tenant, pass = pass, lead = lead, rank = rank }
      end
    end
  end
  return best
end

--- Take what the next turn gives, at most `most` executions; nil when nothing is ready.
function lanes.take_turn(tag, routes, only, most)
  if #routes == 0 then return nil end
  local route, tenant, pass, ahead = routes[1], nil, nil, 0
  if #routes == 1 then
    tenant, pass, ahead = ready.turn(tag, route.lane, route.requires, only)
    if not tenant then return nil end
  else
    local best = pick(tag, routes, only)
    if not best then return nil end
    route, tenant, pass = best.route, best.tenant, best.pass
  end
  local weight = settings.weight(tag, route.lane, tenant)
  -- On a single route a tenant may go on until it reaches the next tenant's pass.
  local count = math.min(most, math.floor(ahead * weight) + 1)
  return ready.take(tag, route.lane, route.requires, tenant, pass, weight, count)
end
