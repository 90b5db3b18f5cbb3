--- Whether executions may start: none of their budgets, and no ancestor, is used up. An execution that
--- may not start waits for the budget that is used up.
--- @key tag the partition of budgets
--- @arg items per item: execution, epoch, its budgets here, one per line
--- @ok per item: the budget that is used up, or empty
--- @flags allow-oom
--- @requires lib/limit/budget lib/limit/waiters

--- The first of these budgets and their ancestors that is used up.
local function used_up(tag, list, seen)
  for id in list:gmatch('[^\n]+') do
    if seen[id] == nil then
      seen[id] = ''
      for _, b in ipairs(budget.chain(tag, id) or {}) do
        if seen[id] == '' and budget.exhausted(b) then seen[id] = b.id end
      end
    end
    if seen[id] ~= '' then return seen[id] end
  end
  return ''
end

local function run(tag, args)
  local answers, seen = { 'ok' }, {}
  for i = 1, #args, 3 do
    local found = used_up(tag, args[i + 2], seen)
    if found ~= '' then waiters.add(tag, found, args[i], args[i + 1]) end
    answers[#answers + 1] = found
  end
  return answers
end
