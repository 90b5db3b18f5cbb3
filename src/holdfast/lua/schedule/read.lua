--- The state of a schedule, and the time.
--- @key tag the partition of the schedule
--- @arg id
--- @ok NOW; if there is one: id, fields as name, value pairs, plan, number running, number lined up
--- @flags no-writes
--- @requires lib/core/keys lib/core/clock lib/admin/schedules

local function run(tag, args)
  local id = args[1]
  local now = clock.now(tag)
  if server.call('EXISTS', keys.schedule(tag, id)) == 0 then return { 'ok', now } end
  return { 'ok', now, schedules.describe(tag, id) }
end
