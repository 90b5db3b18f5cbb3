--- The health of a partition: how long work waits, how late timers are, counts of incidents.
--- @key tag the partition
--- @ok NOW, LATE_MS of the most overdue timer, lane and birth of its oldest waiting, incident and count
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock

local INCIDENTS = { 'lease_expired', 'timed_out', 'retried', 'deadline_passed' }

--- The oldest waiting execution of each lane, over all tenants.
local function oldest_by_lane(tag)
  local oldest = {}
  for _, tenant in ipairs(server.call('SMEMBERS', keys.tenants(tag))) do
    for _, cell in ipairs(server.call('SMEMBERS', keys.cells(tag, tenant))) do
      local lane, state = cell:match('^([^|]*)|[^|]*|([^|]*)$')
      if state == 'waiting' then
        local born = tonumber(server.call('ZRANGE', keys.cell(tag, tenant, cell), 0, 0, 'WITHSCORES')[2])
        if born and born < (oldest[lane] or math.huge) then oldest[lane] = born end
      end
    end
  end
  return oldest
end

local function run(tag, _)
  local now = clock.now(tag)
  local first = tonumber(server.call('ZRANGE', keys.timers(tag), 0, 0, 'WITHSCORES')[2] or now)
  local lanes, incidents = {}, {}
  for lane, born in pairs(oldest_by_lane(tag)) do
    lanes[#lanes + 1] = lane
    lanes[#lanes + 1] = ('%.0f'):format(born)
  end
  for _, name in ipairs(INCIDENTS) do
    incidents[#incidents + 1] = name
    incidents[#incidents + 1] = server.call('HGET', keys.meta(tag), 'n_' .. name) or '0'
  end
  return { 'ok', now, math.max(0, now - first), lanes, incidents }
end
