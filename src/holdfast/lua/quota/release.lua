--- Release the slots of executions, and give them to waiting ones.
--- @key tag the partition of quotas
--- @arg items per item: execution, epoch, used 1 or 0, its quotas here, one per line
--- @ok what this partition has to tell others, lines each
--- @flags allow-oom
--- @requires lib/core/clock lib/limit/quota lib/limit/outbox

local MOST_ENTRIES = 500

local function run(tag, args)
  local now = clock.now(tag)
  local touched, order = {}, {}
  for i = 1, #args, 4 do
    local execution, epoch, used = args[i], args[i + 1], args[i + 2] == '1'
    for name in args[i + 3]:gmatch('[^\n]+') do
      quota.release(tag, name, execution, epoch, used)
      if not touched[name] then
        touched[name] = true
        order[#order + 1] = name
      end
    end
  end
  for _, name in ipairs(order) do quota.settle(tag, name, now) end
  return { 'ok', outbox.read(tag, MOST_ENTRIES) }
end
