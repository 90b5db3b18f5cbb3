--- Remove executions that no longer wait for budgets.
--- @key tag the partition of budgets
--- @arg items per item: execution, epoch, budgets here, one per line
--- @ok
--- @flags allow-oom
--- @requires lib/limit/waiters

local function run(tag, args)
  for i = 1, #args, 3 do
    for id in args[i + 2]:gmatch('[^\n]+') do waiters.drop(tag, id, args[i], args[i + 1]) end
  end
  return { 'ok' }
end
