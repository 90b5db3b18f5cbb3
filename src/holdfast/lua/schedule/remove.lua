--- Remove a schedule. Executions that it has fired continue; those lined up start in their turn.
--- @key tag the partition of the schedule
--- @arg id @arg token of this call; older callers send none
--- @ok removed | absent
--- @flags allow-oom
--- @requires lib/core/keys lib/core/clock lib/admin/schedules lib/core/once

local function remove(tag, args)
  local id = args[1]
  if server.call('DEL', keys.schedule(tag, id), keys.plan(tag, id)) == 0 then return { 'ok', 'absent' } end
  server.call('ZREM', keys.schedules(tag), id)
  schedules.arm(tag, id, '', clock.now(tag))
  return { 'ok', 'removed' }
end

local function run(tag, args) return once.run(tag, args[2], remove, args) end
