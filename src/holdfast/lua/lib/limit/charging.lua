--- Charging a budget: once per key, all dimensions or none.
--- @requires lib/core/keys lib/limit/budget
local charging = {}

-- The spending of an execution is kept separately until this long after its last charge.
local SPENT_MS = 30 * 86400000

--- Charge amounts that fit. `by` is the execution that spent them, or empty.
function charging.charge(tag, chain, amounts, by, now)
  budget.add(tag, chain, 'u', amounts, 1)
  local total = keys.total(tag, chain[1].tenant)
  for i = 1, #amounts, 2 do server.call('HINCRBY', total, amounts[i], amounts[i + 1]) end
  if by ~= '' then
    local spent = keys.spent(tag, by)
    for i = 1, #amounts, 2 do
      server.call('HINCRBY', spent, chain[1].id .. '|' .. amounts[i], amounts[i + 1])
    end
    server.call('PEXPIRE', spent, SPENT_MS)
  end
  local soft = budget.soft_breach(chain, amounts)
  return soft and budget.warn(tag, soft, by, now) or { 'ok', 'ok' }
end

function charging.known(tag, id, key) return server.call('GET', keys.applied(tag, id, key)) end

--- Remember that a key was used, and for what.
function charging.remember(tag, id, key, word, keep_ms)
  server.call('SET', keys.applied(tag, id, key), word, 'PX', keep_ms)
end
