--- Cancel a reservation as if it had never been made: its key is free again. If others have asked for it, too,
--- it stays for them.
--- @key tag the partition of budgets
--- @arg id @arg key @arg asker who gives it back; older callers do not say
--- @ok
--- @no budget_not_found
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/limit/budget lib/limit/reserving

local function run(tag, args)
  local id, key, asker = unpack(args)
  local chain = budget.chain(tag, id)
  if not chain then return reply.no('budget_not_found', 'id', id) end
  local reserved = reserving.find(tag, id, key)
  if reserved and reserving.renounce(tag, id, key, asker) then
    reserving.close(tag, chain, key, reserved)
    budget.wake_all(tag, chain, clock.now(tag))
  end
  return { 'ok' }
end
