--- Release the slots of executions, and give them to waiting ones.
--- @key tag the partition of quotas
--- @arg items per item: execution, epoch, used 1 or 0, its quotas here, one per line; several executions
--- @arg items that ran have blanks between; used 2: it may not have been admitted yet
--- @ok what this partition has to tell others, lines each
--- @flags allow-oom
--- @requires lib/core/clock lib/limit/quota lib/limit/outbox

local MOST_ENTRIES = 500

local function run(tag, args)
  local now = clock.now(tag)
  local used, order = {}, {}
  for i = 1, #args, 4 do
    local executions, epoch, how = args[i], args[i + 1], args[i + 2]
    for name in args[i + 3]:gmatch('[^\n]+') do
      local given = used[name]
      if not given then
        given = {}
        used[name] = given
        order[#order + 1] = name
      end
      for execution in executions:gmatch('%S+') do
        if how == '1' then
          given[#given + 1] = execution
          given[#given + 1] = epoch
        else
          quota.revoke(tag, name, execution, epoch, how == '2')
        end
      end
    end
  end
  for _, name in ipairs(order) do
    if #used[name] > 0 then quota.release_many(tag, name, used[name]) end
    quota.settle(tag, name, now)
  end
  return { 'ok', outbox.read(tag, MOST_ENTRIES) }
end
