--- Reservations: amounts that count against a budget until they are settled or run out.
--- A reservation is a hash of dimension to amount, with `|until`, and `|for ASKER` of each call that got it and
--- may give it back.
--- @requires lib/core/keys lib/core/timers lib/limit/budget lib/limit/charging
local reserving = {}

-- A reservation that ran out may still be settled this long: what it was for has been spent.
local LATE_MS = 86400000

local function member(id, key) return 'v:' .. id .. '|' .. key end

--- The amounts of a reservation as pairs and by dimension, or nil.
function reserving.find(tag, id, key)
  local flat = server.call('HGETALL', keys.reservation(tag, id, key))
  if #flat == 0 then return nil end
  local amounts, by_dimension = {}, {}
  for i = 1, #flat, 2 do
    if flat[i]:sub(1, 1) ~= '|' then
      amounts[#amounts + 1] = flat[i]
      amounts[#amounts + 1] = flat[i + 1]
      by_dimension[flat[i]] = tonumber(flat[i + 1])
    end
  end
  return amounts, by_dimension
end

function reserving.open(tag, chain, key, amounts, ttl_ms, now)
  local id = chain[1].id
  budget.add(tag, chain, 'r', amounts, 1)
  local till = now + ttl_ms
  server.call('HSET', keys.reservation(tag, id, key), '|until', till, unpack(amounts))
  timers.set(tag, member(id, key), till, now)
end

--- Note who has got a reservation; callers that do not give it back have no name.
function reserving.note(tag, id, key, asker)
  if asker ~= '' then server.call('HSET', keys.reservation(tag, id, key), '|for ' .. asker, '1') end
end

--- One who asked gives a reservation back; returns whether nobody else has it.
function reserving.renounce(tag, id, key, asker)
  if not asker then return true end
  local reservation = keys.reservation(tag, id, key)
  if server.call('HDEL', reservation, '|for ' .. asker) == 0 then return false end
  for _, field in ipairs(server.call('HKEYS', reservation)) do
    if field:sub(1, 5) == '|for ' then return false end
  end
  return true
end

--- Take a reservation off the budget and its ancestors.
function reserving.close(tag, chain, key, amounts)
  local id = chain[1].id
  budget.add(tag, chain, 'r', amounts, -1)
  server.call('DEL', keys.reservation(tag, id, key))
  server.call('ZREM', keys.timers(tag), member(id, key))
end

--- A reservation ran out: its holder is gone, or late.
function reserving.expire(tag, name, now)
  local id, key = name:match('^([^|]+)|(.*)$')
  local amounts = reserving.find(tag, id, key)
  if not amounts then
    server.call('ZREM', keys.timers(tag), 'v:' .. name)
    return
  end
  local chain = budget.chain(tag, id)
  reserving.close(tag, chain, key, amounts)
  charging.remember(tag, id, key, 'expired', LATE_MS)
  budget.wake_all(tag, chain, now)
end
