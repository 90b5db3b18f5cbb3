--- Change limits of a budget; executions that wait for it continue if something is left now.
--- @key tag the partition of budgets
--- @arg id @arg request id of this call @arg limits h|DIM or s|DIM, amount or empty for none
--- @ok
--- @no budget_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/limit/budget lib/limit/charging

local MEMORY_MS = 60000

local function run(tag, args)
  local id, request = unpack(args, 1, 2)
  local key = keys.budget(tag, id)
  if server.call('EXISTS', key) == 0 then return reply.no('budget_not_found', 'id', id) end
  if charging.known(tag, id, '|' .. request) then return { 'ok' } end

  charging.remember(tag, id, '|' .. request, 'limited', MEMORY_MS)
  for i = 3, #args, 2 do
    if args[i + 1] == '' then
      server.call('HDEL', key, args[i])
    else
      server.call('HSET', key, args[i], args[i + 1])
    end
    -- Whether it exceeds a soft limit is determined again.
    server.call('HDEL', key, 'over|' .. args[i]:sub(3))
  end
  budget.wake(tag, id, clock.now(tag))
  return { 'ok' }
end
