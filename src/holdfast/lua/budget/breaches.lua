--- The last breaches of a budget, oldest first.
--- @key tag the partition of budgets
--- @arg id
--- @ok entries
--- @no budget_not_found
--- @flags no-writes
--- @requires lib/core/keys lib/core/reply

local function run(tag, args)
  local id = args[1]
  if server.call('EXISTS', keys.budget(tag, id)) == 0 then return reply.no('budget_not_found', 'id', id) end
  return { 'ok', server.call('LRANGE', keys.breaches(tag, id), 0, -1) }
end
