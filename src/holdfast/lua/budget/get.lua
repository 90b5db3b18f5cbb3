--- A budget: its limits, its used and reserved amounts, and its last breach.
--- @key tag the partition of budgets
--- @arg id
--- @ok fields as name, value pairs, how many executions wait for it, the last breach or empty
--- @no budget_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/reply lib/limit/waiters

local function run(tag, args)
  local id = args[1]
  local fields = server.call('HGETALL', keys.budget(tag, id))
  if #fields == 0 then return reply.no('budget_not_found', 'id', id) end
  local last = server.call('LINDEX', keys.breaches(tag, id), -1) or ''
  return { 'ok', fields, waiters.count(tag, id), last }
end
