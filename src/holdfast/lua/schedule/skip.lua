--- Skip ticks of a schedule: it advances and fires nothing.
--- @key tag the partition of the schedule
--- @arg id @arg version @arg from the tick at which it stands @arg next the tick after, or empty
--- @arg due when that fires, or empty @arg missed how many ticks @arg error why, or empty
--- @ok
--- @no schedule_moved
--- @flags allow-oom
--- @requires lib/core/clock lib/core/reply lib/admin/schedules

local function run(tag, args)
  local id, version, from, next_tick, due, missed, error_text = unpack(args)
  local now = clock.now(tag)
  local schedule = schedules.read(tag, id)
  local step = { version = version, from = from, next = next_tick, due = due, missed = tonumber(missed) }
  if not schedules.stands(schedule, step) then return reply.no('schedule_moved', 'id', id) end
  schedules.move(tag, id, step, now, schedule, error_text ~= '' and { 'error', error_text } or {})
  return { 'ok' }
end
