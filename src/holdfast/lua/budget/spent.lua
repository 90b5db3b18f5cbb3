--- The spending of executions, and the totals of tenants since the beginning.
--- @key tag the partition of budgets
--- @arg what execution or tenant @arg name
--- @ok of an execution BUDGET|DIMENSION, of a tenant DIMENSION, with amounts, as pairs
--- @flags no-writes
--- @requires lib/core/keys

local function run(tag, args)
  local what, name = unpack(args)
  local key = what == 'execution' and keys.spent(tag, name) or keys.total(tag, name)
  return { 'ok', server.call('HGETALL', key) }
end
