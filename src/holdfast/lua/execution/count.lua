--- The number of executions by tenant, lane, kind and state.
--- @key tag the partition
--- @arg tenant or empty for all
--- @ok tenant, `lane|kind|state`, count of each cell
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local tenants = args[1] ~= '' and { args[1] } or server.call('SMEMBERS', keys.tenants(tag))
  local counts = { 'ok' }
  for _, tenant in ipairs(tenants) do
    for _, cell in ipairs(server.call('SMEMBERS', keys.cells(tag, tenant))) do
      counts[#counts + 1] = tenant
      counts[#counts + 1] = cell
      counts[#counts + 1] = server.call('ZCARD', keys.cell(tag, tenant, cell))
    end
  end
  return counts
end
