--- Raise a hard limit, once per key: the answer to an execution that asked for more. It never lowers
--- one, so answers to several executions may arrive in any order. Waiting executions continue.
--- @key tag the partition of budgets
--- @arg id @arg key @arg keep_ms how long the key is remembered @arg dimension @arg limit
--- @ok raised | already_applied | enough
--- @no budget_not_found
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/limit/budget lib/limit/charging

local function run(tag, args)
  local id, key, keep_ms, dimension, limit = unpack(args)
  local found = budget.read(tag, id)
  if not found then return reply.no('budget_not_found', 'id', id) end
  if charging.known(tag, id, '|' .. key) then return { 'ok', 'already_applied' } end

  charging.remember(tag, id, '|' .. key, 'raised', keep_ms)
  local hard = tonumber(found['h|' .. dimension])
  if not hard or hard >= tonumber(limit) then return { 'ok', 'enough' } end
  server.call('HSET', keys.budget(tag, id), 'h|' .. dimension, limit)
  budget.wake(tag, id, clock.now(tag))
  return { 'ok', 'raised' }
end
