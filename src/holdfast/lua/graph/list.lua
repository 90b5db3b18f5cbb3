--- Graphs, newest first.
--- @key tag the partition
--- @arg tenant @arg state each may be empty @arg before birth stamp in us @arg limit
--- @ok rows: id, fields as name, value pairs; at last whether there may be more, 1 or 0
--- @flags no-writes
--- @requires lib/core/keys lib/graph/graphs

local STATES = { 'running', 'completed', 'failed', 'cancelled' }

local function run(tag, args)
  local tenant, state, before, limit = unpack(args)
  local tenants = tenant ~= '' and { tenant } or server.call('SMEMBERS', keys.graph_tenants(tag))
  local found = {}
  for _, owner in ipairs(tenants) do
    for _, one in ipairs(state ~= '' and { state } or STATES) do
      local rows = server.call(
        'ZRANGE', keys.graphs(tag, owner, one), '(' .. before, '-inf',
        'BYSCORE', 'REV', 'LIMIT', 0, limit + 1, 'WITHSCORES'
      )
      for i = 1, #rows, 2 do found[#found + 1] = { rows[i], tonumber(rows[i + 1]) } end
    end
  end
  table.sort(found, function(a, b) return a[2] > b[2] end)
  local rows = {}
  for i = 1, math.min(#found, tonumber(limit)) do
    local id = found[i][1]
    local _, flat = graphs.read(tag, id)
    rows[#rows + 1] = { id, flat }
  end
  return { 'ok', rows, #found > #rows and 1 or 0 }
end
