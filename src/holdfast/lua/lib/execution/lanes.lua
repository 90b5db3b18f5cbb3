--- Decides the next turn over the open routes of several lanes. Lanes take turns evenly, over all
--- claims that serve several, so no lane starves another; inside a lane tenants take turns by their
--- passes.
--- @requires lib/core/keys lib/core/settings lib/execution/turns
local lanes = {}

-- A claim examines this many routes of a lane.
local MOST_ROUTES = 256

local function serves(capabilities, requires)
  for capability in requires:gmatch('[^,]+') do
    if not capabilities[capability] then return false end
  end
  return true
end

--- Some routes of a lane with very many, starting at a position that advances with each claim.
local function some_routes(routes, count, now)
  local first = now % count
  local some = server.call('ZRANGE', routes, first, first + MOST_ROUTES - 1)
  if #some < MOST_ROUTES then
    -- There are more than fit, so these are different ones.
    for _, place in ipairs(server.call('ZRANGE', routes, 0, MOST_ROUTES - #some - 1)) do
      some[#some + 1] = place
    end
  end
  return some
end

--- The same for named kinds. Each is found by its name, so that kinds which no worker has cost nothing.
local function named_routes(routes, kinds, now)
  local first = kinds:find(',', now % #kinds + 1, true)
  local some = {}
  for kind in (kinds:sub(first) .. kinds:sub(1, first)):gmatch('[^,]+') do
    local room = MOST_ROUTES - #some
    if room == 0 then break end
    -- '}' follows '|', and neither is part of a kind.
    local least, most = '[' .. kind .. '|', '(' .. kind .. '}'
    local found = server.call('ZRANGE', routes, least, most, 'BYLEX', 'LIMIT', 0, room)
    for _, place in ipairs(found) do some[#some + 1] = place end
  end
  return some
end

--- The routes of a lane that are open for these kinds and capabilities. `kinds` is `,a,b,c,`, or empty
--- for all: a worker may have hundreds, so it is searched, not split.
local function open_routes(routes, kinds, capabilities, now)
  local count = server.call('ZCARD', routes)
  local all
  if count <= MOST_ROUTES then
    all = server.call('ZRANGE', routes, 0, -1)
  elseif kinds == '' then
    all = some_routes(routes, count, now)
  else
    all = named_routes(routes, kinds, now)
  end
  local open = {}
  for _, place in ipairs(all) do
    local bar = place:find('|', 1, true)
    local known = kinds == '' or kinds:find(',' .. place:sub(1, bar - 1) .. ',', 1, true)
    if known and (bar == #place or serves(capabilities, place:sub(bar + 1))) then
      open[#open + 1] = place
    end
  end
  return open
end

--- The lanes with ready work that a worker may serve now. `wanted` is what it serves: lanes and
--- capabilities, comma separated, kinds, the only tenant or nil, and the most that it takes.
function lanes.open(tag, wanted, now)
  local capabilities, open = {}, {}
  for capability in wanted.capabilities:gmatch('[^,]+') do capabilities[capability] = true end
  for lane in wanted.lanes:gmatch('[^,]+') do
    if settings.lane(tag, lane) ~= 'paused' then
      local routes = open_routes(keys.routes(tag, lane), wanted.kinds, capabilities, now)
      if #routes > 0 then open[#open + 1] = turns.open(tag, lane, routes, wanted.only, wanted.most) end
    end
  end
  open.turn = #open > 1 and tonumber(server.call('HGET', keys.meta(tag), 'lane_turn') or 0) or 0
  return open
end

--- The id of the execution that the next turn gives, and the stack that it is from; nil when nothing is
--- ready.
function lanes.next(tag, open)
  for _ = 1, #open do
    open.turn = open.turn + 1
    local id, stack = turns.next(tag, open[open.turn % #open + 1])
    if id then return id, stack end
  end
  return nil
end

--- Write the taken executions, and remember which lane had its turn.
function lanes.close(tag, open)
  for _, view in ipairs(open) do turns.close(tag, view) end
  if #open > 1 then server.call('HSET', keys.meta(tag), 'lane_turn', open.turn % 1000000) end
end
