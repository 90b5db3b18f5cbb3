--- Create a budget. A repeated call gets the same answer; different content is refused.
--- @key tag the partition of budgets: that of the root
--- @arg id @arg tenant @arg root empty for a root @arg parent or empty @arg on_hard
--- @arg period ms between resets, or empty @arg limits per limit two values: h|DIM or s|DIM, amount
--- @ok created | exists
--- @no budget_conflict | budget_not_found | budget_too_deep
--- @flags write
--- @requires lib/core/keys lib/core/clock lib/core/reply lib/limit/budget lib/core/timers

local FIELDS = { 'tenant', 'root', 'parent', 'on_hard', 'period' }

--- Whether a budget matches the call; its limits may have changed since.
local function same(found, args)
  for i, name in ipairs(FIELDS) do
    if (found[name] or '') ~= args[i + 1] then return false end
  end
  return found.made == server.sha1hex(table.concat(args, '\n', 7))
end

local function run(tag, args)
  local id, parent, period = args[1], args[4], tonumber(args[6])
  local now = clock.now(tag)
  local found = budget.read(tag, id)
  if found and same(found, args) then return { 'ok', 'exists' } end
  local address = server.call('GET', keys.address(tag, id))
  local elsewhere = address and address ~= (args[3] ~= '' and args[3] or id)
  if found or elsewhere then return reply.no('budget_conflict', 'id', id) end
  if parent ~= '' then
    local chain = budget.chain(tag, parent)
    if not chain then return reply.no('budget_not_found', 'id', parent) end
    local most = budget.MOST_DEPTH
    if #chain >= most then return reply.no('budget_too_deep', 'id', id, 'limit', most) end
  end

  local fields = { 'born', now, 'made', server.sha1hex(table.concat(args, '\n', 7)) }
  for i, name in ipairs(FIELDS) do
    if args[i + 1] ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = args[i + 1]
    end
  end
  for i = 7, #args do fields[#fields + 1] = args[i] end
  if period then
    fields[#fields + 1] = 'next_reset'
    fields[#fields + 1] = now + period
    timers.set(tag, 'b:' .. id, now + period, now)
  end
  server.call('HSET', keys.budget(tag, id), unpack(fields))
  server.call('ZADD', keys.budgets(tag), 0, args[2] .. '|' .. id)
  return { 'ok', 'created' }
end
