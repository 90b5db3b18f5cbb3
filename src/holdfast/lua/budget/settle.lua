--- Charge the used part of a reservation; the rest is returned. A reservation that has expired is
--- charged like a report.
--- @key tag the partition of budgets
--- @arg id @arg key @arg keep_ms how long the key is remembered @arg by execution or empty
--- @arg usage dimension, amount pairs
--- @ok ok | already_applied | soft_breach or hard_breach BUDGET DIMENSION CURRENT LIMIT ON_HARD
--- @no budget_not_found | reservation_not_found
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/limit/budget lib/limit/charging lib/limit/reserving

local function run(tag, args)
  local id, key, keep_ms, by = unpack(args, 1, 4)
  local now = clock.now(tag)
  local chain = budget.chain(tag, id)
  if not chain then return reply.no('budget_not_found', 'id', id) end
  local reserved, back = reserving.find(tag, id, key)
  local known = charging.known(tag, id, key)
  if not reserved and known ~= 'expired' then
    if known then return { 'ok', 'already_applied' } end
    return reply.no('reservation_not_found', 'id', id, 'key', key)
  end
  local amounts = { unpack(args, 5) }
  local breach = budget.breach(chain, amounts, back or {})
  if breach then return budget.refuse(tag, breach, key, by, now) end

  if reserved then reserving.close(tag, chain, key, reserved) end
  charging.remember(tag, id, key, 'settled', keep_ms)
  local answer = charging.charge(tag, chain, amounts, by, now)
  budget.wake_all(tag, chain, now)
  return answer
end
