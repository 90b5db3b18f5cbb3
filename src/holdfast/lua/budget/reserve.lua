--- Reserve amounts before they are used, all or none. They count against the limits until they are
--- settled or expire.
--- @key tag the partition of budgets
--- @arg id @arg key @arg ttl_ms
--- @arg by execution or empty, and behind a blank the asker, if it may give the reservation back
--- @arg usage dimension, amount pairs
--- @ok ok | already_applied with the reserved amounts as pairs
--- @ok hard_breach BUDGET DIMENSION CURRENT LIMIT ON_HARD
--- @no budget_not_found
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/limit/budget lib/limit/charging lib/limit/reserving

local function run(tag, args)
  local id, key, ttl_ms = unpack(args, 1, 3)
  local by, asker = args[4]:match('^(%S*) ?(.*)$')
  local now = clock.now(tag)
  local chain = budget.chain(tag, id)
  if not chain then return reply.no('budget_not_found', 'id', id) end
  local reserved = reserving.find(tag, id, key)
  if reserved then
    reserving.note(tag, id, key, asker)
    return { 'ok', 'already_applied', unpack(reserved) }
  end
  if charging.known(tag, id, key) then return { 'ok', 'already_applied' } end
  local amounts = { unpack(args, 5) }
  local breach = budget.breach(chain, amounts, {})
  if breach then return budget.refuse(tag, breach, key, by, now) end

  reserving.open(tag, chain, key, amounts, tonumber(ttl_ms), now)
  reserving.note(tag, id, key, asker)
  return { 'ok', 'ok', unpack(amounts) }
end
