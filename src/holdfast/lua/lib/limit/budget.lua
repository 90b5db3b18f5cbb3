--- Budgets. A budget has named dimensions: `u|DIM` used, `r|DIM` reserved, `h|DIM` hard and `s|DIM`
--- soft limit. It counts against all its ancestors, which live in the same partition: what fits
--- into each of them is charged to all of them, what does not fit into one is charged to none.
--- @requires lib/core/keys lib/core/timers lib/limit/waiters lib/limit/outbox
local budget = {}

-- Beyond this a double is not exact, so it is the hard limit of every dimension.
local LARGEST = 2 ^ 53 - 1
local MOST_BREACHES = 100
local WOKEN_AT_ONCE = 100

budget.MOST_DEPTH = 8

function budget.read(tag, id)
  local flat = server.call('HGETALL', keys.budget(tag, id))
  if #flat == 0 then return nil end
  local found = { id = id }
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end

--- The budget and its ancestors, or nil.
function budget.chain(tag, id)
  local chain = {}
  while id do
    local found = budget.read(tag, id)
    if not found then return chain[1] and chain end
    chain[#chain + 1] = found
    id = found.parent
  end
  return chain
end

function budget.number(b, letter, dimension) return tonumber(b[letter .. '|' .. dimension] or 0) end

--- What counts against the limits: used and reserved.
function budget.current(b, dimension)
  return budget.number(b, 'u', dimension) + budget.number(b, 'r', dimension)
end

--- The first hard limit that these amounts would pass, beside what is given back with them.
function budget.breach(chain, amounts, back)
  for _, b in ipairs(chain) do
    for i = 1, #amounts, 2 do
      local dimension, amount = amounts[i], tonumber(amounts[i + 1])
      local current = budget.current(b, dimension)
      local hard = tonumber(b['h|' .. dimension] or LARGEST)
      -- What was reserved may be charged even if the limit has been lowered since.
      local more = amount - (back[dimension] or 0)
      if more > 0 and current + more > hard then
        return { budget = b, dimension = dimension, current = current, limit = hard }
      end
    end
  end
  return nil
end

--- Add amounts under a letter, `u` or `r`, to the budget and its ancestors.
function budget.add(tag, chain, letter, amounts, sign)
  for _, b in ipairs(chain) do
    for i = 1, #amounts, 2 do
      local field = letter .. '|' .. amounts[i]
      b[field] = server.call('HINCRBY', keys.budget(tag, b.id), field, sign * amounts[i + 1])
    end
  end
end

--- Keep a breach in the history.
local function remember(tag, breach, kind, by, now)
  local list = keys.breaches(tag, breach.budget.id)
  local entry = { at = now, kind = kind, dimension = breach.dimension, by = by ~= '' and by or nil }
  entry.current, entry.limit = breach.current, breach.limit
  server.call('RPUSH', list, cmsgpack.pack(entry))
  server.call('LTRIM', list, -MOST_BREACHES, -1)
end

local function answer(breach, status)
  local b = breach.budget
  return { 'ok', status, b.id, breach.dimension, breach.current, breach.limit, b.on_hard or 'refuse' }
end

--- Record that a charge was refused, and return the answer for its caller. The same charge, sent again
--- because its reply was lost, is not a second breach.
function budget.refuse(tag, breach, key, by, now)
  local b = breach.budget
  if b.refused ~= key then
    server.call('HINCRBY', keys.budget(tag, b.id), 'hard_breaches', 1)
    server.call('HSET', keys.budget(tag, b.id), 'refused', key)
    remember(tag, breach, 'hard', by, now)
  end
  return answer(breach, 'hard_breach')
end

--- Record that a soft limit is exceeded, and return the answer for the caller. The budget is flagged:
--- further charges above the limit are not recorded again.
function budget.warn(tag, breach, by, now)
  local b = breach.budget
  local flag = 'over|' .. breach.dimension
  server.call('HINCRBY', keys.budget(tag, b.id), 'soft_breaches', 1)
  if not b[flag] then
    server.call('HSET', keys.budget(tag, b.id), flag, now)
    remember(tag, breach, 'soft', by, now)
  end
  return answer(breach, 'soft_breach')
end

--- The first soft limit that is passed after these amounts were added.
function budget.soft_breach(chain, amounts)
  for _, b in ipairs(chain) do
    for i = 1, #amounts, 2 do
      local soft, current = tonumber(b['s|' .. amounts[i]]), budget.current(b, amounts[i])
      if soft and tonumber(amounts[i + 1]) > 0 and current > soft then
        return { budget = b, dimension = amounts[i], current = current, limit = soft }
      end
    end
  end
  return nil
end

--- The dimension in which nothing is left, or nil: executions are admitted while something is.
function budget.exhausted(b)
  for field, hard in pairs(b) do
    local dimension = field:match('^h|(.*)$')
    if dimension and budget.current(b, dimension) >= tonumber(hard) then return dimension end
  end
  return nil
end

--- Wake some executions that wait for a budget; the timer wakes the rest.
function budget.wake(tag, id, now)
  local waiting = waiters.count(tag, id)
  if waiting == 0 then return end
  local b = budget.read(tag, id)
  if b and budget.exhausted(b) then return end
  for _, execution in ipairs(waiters.pop(tag, id, WOKEN_AT_ONCE)) do
    outbox.put(tag, now, 'w', execution, 'b:' .. (b and b.root and b.root .. '~' or '') .. id)
  end
  if waiting > WOKEN_AT_ONCE then timers.set(tag, 'b:' .. id, now, now) end
end

--- Wake the executions that wait for the budget or an ancestor.
function budget.wake_all(tag, chain, now)
  for _, b in ipairs(chain) do budget.wake(tag, b.id, now) end
end

--- Reset the usage to zero; reservations stay.
function budget.reset(tag, b, now)
  local key = keys.budget(tag, b.id)
  for field in pairs(b) do
    if field:match('^u|') or field:match('^over|') then server.call('HDEL', key, field) end
  end
  server.call('HSET', key, 'reset_at', now)
  budget.wake(tag, b.id, now)
end

--- The timer of a budget: its period ends, or more executions must be woken.
function budget.due(tag, id, now)
  server.call('ZREM', keys.timers(tag), 'b:' .. id)
  local b = budget.read(tag, id)
  if not b then return end
  local due = tonumber(b.next_reset)
  if due and due <= now then
    local period = tonumber(b.period)
    due = due + (math.floor((now - due) / period) + 1) * period
    server.call('HSET', keys.budget(tag, id), 'next_reset', due)
    budget.reset(tag, b, now)
  else
    budget.wake(tag, id, now)
  end
  if due and not server.call('ZSCORE', keys.timers(tag), 'b:' .. id) then timers.set(tag, 'b:' .. id, due, now) end
end
