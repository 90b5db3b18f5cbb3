--- Reset the usage of a budget. Reservations stay, and ancestors do not change.
--- @key tag the partition of budgets
--- @arg id @arg request id of this call
--- @ok
--- @no budget_not_found
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/limit/budget lib/limit/charging

local MEMORY_MS = 60000

local function run(tag, args)
  local id, request = unpack(args)
  local found = budget.read(tag, id)
  if not found then return reply.no('budget_not_found', 'id', id) end
  if charging.known(tag, id, '|' .. request) then return { 'ok' } end

  charging.remember(tag, id, '|' .. request, 'reset', MEMORY_MS)
  budget.reset(tag, found, clock.now(tag))
  return { 'ok' }
end
