--- Schedules. The store knows when a schedule is due next and what it has fired; a scheduler in Python
--- works out the next time, by calendars and time zones. Its answer is a step from the current tick to
--- the next one; a step from another tick, or of another version of the schedule, is refused. So any
--- number of schedulers fire each tick once.
--- A fired execution has the id `SCHEDULE~TICK`, so it lives in the partition of its schedule.
--- @requires lib/core/keys lib/core/record lib/execution/requeue lib/core/timers lib/core/wake
local schedules = {}

-- A schedule stays due until its step is taken; until then the announcement is repeated.
local RING_AGAIN_MS = 5000
-- Executions that wait for earlier ones of their schedule; further ticks are skipped.
local MOST_LINED_UP = 100

function schedules.read(tag, id)
  local flat = server.call('HGETALL', keys.schedule(tag, id))
  if #flat == 0 then return nil end
  local found = {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end

--- Set when a schedule is due, or that it never is.
function schedules.arm(tag, id, due, now)
  if due ~= '' then
    server.call('ZADD', keys.dues(tag), due, id)
    timers.set(tag, 's:' .. id, tonumber(due), now)
  else
    server.call('ZREM', keys.dues(tag), id)
    server.call('ZREM', keys.timers(tag), 's:' .. id)
  end
end

--- The timer of a schedule fired.
function schedules.ring(tag, id, now)
  local due = tonumber(server.call('ZSCORE', keys.dues(tag), id) or nil)
  if not due then
    server.call('ZREM', keys.timers(tag), 's:' .. id)
  elseif due <= now then
    wake.scheduler(tag)
    timers.set(tag, 's:' .. id, now + RING_AGAIN_MS, now)
  else
    timers.set(tag, 's:' .. id, due, now)
  end
end

--- Whether a step starts at the current tick of the schedule.
function schedules.stands(schedule, step)
  return schedule and schedule.version == tostring(step.version) and schedule.next == tostring(step.from)
end

--- Take a step: the schedule advances to its next tick. `changes` are further fields.
function schedules.move(tag, id, step, now, schedule, changes)
  if step.missed then
    changes[#changes + 1] = 'missed'
    changes[#changes + 1] = tonumber(schedule.missed or 0) + step.missed
  end
  for _, value in ipairs({ 'next', step.next, 'due', step.due }) do changes[#changes + 1] = value end
  server.call('HSET', keys.schedule(tag, id), unpack(changes))
  schedules.arm(tag, id, step.due, now)
end

--- Before an item of a schedule is created: its answer, if it must not be created. A tick advances the
--- schedule; a manual trigger does not. `answer` is that of an item that exists or is refused: if it
--- exists, fired by an earlier schedule of this name, this schedule advances as well.
function schedules.turn(tag, item, answer, now)
  local step = item.schedule
  local schedule = schedules.read(tag, step.id)
  local stands = schedules.stands(schedule, step)
  if answer then
    if stands and answer[1] ~= 'no' then schedules.move(tag, step.id, step, now, schedule, {}) end
    return answer
  end
  if step.hand and schedule then return nil end
  if not stands then return { 'no', 'schedule_moved', item.id } end
  local busy = server.call('EXISTS', keys.fired(tag, step.id)) == 1
  local skipped = (step.overlap == 'skip' and busy)
    or (step.overlap == 'queue' and server.call('ZCARD', keys.lined_up(tag, step.id)) >= MOST_LINED_UP)
  if skipped then
    local count = tonumber(schedule.skipped or 0) + 1
    schedules.move(tag, step.id, step, now, schedule, { 'skipped', count, 'last', step.tick })
    return { 'skipped' }
  end
  local count = tonumber(schedule.count or 0) + 1
  schedules.move(tag, step.id, step, now, schedule, { 'count', count, 'last', step.tick, 'last_id', item.id })
  return nil
end

--- An item of a schedule is created: it runs, or lines up behind those that do.
function schedules.fire(tag, item, rec)
  local step = item.schedule
  rec.schedule = 1
  local fired = keys.fired(tag, step.id)
  if step.overlap == 'queue' and server.call('EXISTS', fired) == 1 then
    rec.state, rec.hold, rec.due = 'delayed', 'schedule', nil
    server.call('ZADD', keys.lined_up(tag, step.id), rec.born, item.id)
  else
    server.call('SADD', fired, item.id)
  end
end

--- Start the next execution of the line, because none of its schedule runs any more.
local function begin_next(tag, schedule, now)
  for _ = 1, MOST_LINED_UP do
    local id = server.call('ZPOPMIN', keys.lined_up(tag, schedule))[1]
    if not id then return end
    local rec = record.read(tag, id)
    if rec and rec.hold == 'schedule' then
      server.call('SADD', keys.fired(tag, schedule), id)
      requeue.ready(tag, id, rec, now, {})
      return
    end
  end
end

--- An execution that a schedule fired has ended.
function schedules.ended(tag, id, now)
  local schedule = id:match('^[^~]+')
  server.call('ZREM', keys.lined_up(tag, schedule), id)
  server.call('SREM', keys.fired(tag, schedule), id)
  if server.call('EXISTS', keys.fired(tag, schedule)) == 0 then begin_next(tag, schedule, now) end
end

--- The state of a schedule, for a reply.
function schedules.describe(tag, id)
  return {
    id,
    server.call('HGETALL', keys.schedule(tag, id)),
    server.call('GET', keys.plan(tag, id)),
    server.call('SCARD', keys.fired(tag, id)),
    server.call('ZCARD', keys.lined_up(tag, id)),
  }
end
