--- Charge used amounts to a budget: all of them, or none if they would exceed a hard limit of the
--- budget or of an ancestor. A key is charged once; a refused charge does not use up its key.
--- @key tag the partition of budgets
--- @arg id @arg key @arg keep_ms how long the key is remembered @arg by execution or empty
--- @arg usage dimension, amount pairs
--- @ok ok | already_applied | soft_breach or hard_breach BUDGET DIMENSION CURRENT LIMIT ON_HARD
--- @no budget_not_found
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/limit/budget lib/limit/charging

local function run(tag, args)
  local id, key, keep_ms, by = unpack(args, 1, 4)
  local now = clock.now(tag)
  local chain = budget.chain(tag, id)
  if not chain then return reply.no('budget_not_found', 'id', id) end
  if charging.known(tag, id, key) then return { 'ok', 'already_applied' } end
  local amounts = { unpack(args, 5) }
  local breach = budget.breach(chain, amounts, {})
  if breach then return budget.refuse(tag, breach, key, by, now) end

  charging.remember(tag, id, key, 'reported', keep_ms)
  return charging.charge(tag, chain, amounts, by, now)
end
