--- Whose turn it is over the open routes of several lanes. Lanes take turns evenly, over all claims
--- that serve several, so no lane starves another; inside a lane tenants take turns by their passes.
--- @requires lib/keys lib/ready lib/settings
local lanes = {}

local function serves(capabilities, requires)
  for capability in requires:gmatch('[^,]+') do
    if not capabilities[capability] then return false end
  end
  return true
end

--- The routes with ready work that a worker with these capabilities may serve now, by lane.
function lanes.open(tag, lanes_csv, capabilities_csv)
  local capabilities, open = {}, {}
  for capability in capabilities_csv:gmatch('[^,]+') do capabilities[capability] = true end
  for lane in lanes_csv:gmatch('[^,]+') do
    local routes = {}
    if settings.lane(tag, lane) ~= 'paused' then
      for _, requires in ipairs(server.call('SMEMBERS', keys.routes(tag, lane))) do
        if serves(capabilities, requires) then routes[#routes + 1] = requires end
      end
    end
    if #routes > 0 then open[#open + 1] = { lane = lane, routes = routes } end
  end
  open.turn = #open > 1 and tonumber(server.call('HGET', keys.meta(tag), 'lane_turn') or 0) or 0
  return open
end

--- Remember which lane had its turn.
function lanes.close(tag, open)
  if #open > 1 then server.call('HSET', keys.meta(tag), 'lane_turn', open.turn % 1000000) end
end

--- The route of a lane on which the tenant with the least pass has work, the oldest of several.
local function pick(tag, lane, routes, only)
  local best
  for _, requires in ipairs(routes) do
    local tenant, pass, ahead = ready.turn(tag, lane, requires, only)
    if tenant and #routes == 1 then
      return { requires = requires, tenant = tenant, pass = pass, ahead = ahead }
    elseif tenant then
      local rank = ready.head_rank(tag, lane, requires, tenant)
      if not best or pass < best.pass or (pass == best.pass and rank < best.rank) then
        best = { requires = requires, tenant = tenant, pass = pass, ahead = 0, rank = rank }
      end
    end
  end
  return best
end

--- Take what the next turn gives, at most `most` executions; nil when nothing is ready.
function lanes.take_turn(tag, open, only, most)
  for _ = 1, #open do
    open.turn = open.turn + 1
    local lane = open[open.turn % #open + 1]
    local best = pick(tag, lane.lane, lane.routes, only)
    if best then
      local weight = settings.weight(tag, lane.lane, best.tenant)
      -- On a single route a tenant may go on until it reaches the next tenant's pass.
      local count = #open == 1 and math.min(most, math.floor(best.ahead * weight) + 1) or 1
      return ready.take(tag, lane.lane, best.requires, best.tenant, best.pass, weight, count)
    end
  end
  return nil
end
