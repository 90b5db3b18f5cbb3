--- Requeueing: an active execution whose attempt ended becomes delayed or ready again.
--- @requires lib/core/keys lib/core/record lib/core/index lib/execution/ready lib/core/timers
--- @requires lib/limit/limits lib/core/causes
local requeue = {}

-- The fields that an execution loses when it runs again.
local STALE = {
  'ended', 'archived', 'result', 'content_type', 'failures', 'reclaims', 'pct', 'progress_at', 'steps',
  'cause',
}

--- Remove the outcome of an execution that ended; returns the changes with which it runs again.
function requeue.restart(tag, id, rec, now)
  if rec.cause then causes.leave(tag, id, rec) end
  record.clear(tag, id, rec, STALE)
  server.call('UNLINK', keys.result(tag, id), keys.note(tag, id))
  local changes = { 'turn', 'replay', 'replays', tonumber(rec.replays or 0) + 1 }
  if rec.deadline_span then
    changes[#changes + 1] = 'deadline'
    changes[#changes + 1] = now + tonumber(rec.deadline_span)
  end
  -- Children of the earlier run, which a timer has yet to cancel.
  if server.call('EXISTS', keys.bonds(tag, id)) == 1 then
    changes[#changes + 1] = 'bonds'
    changes[#changes + 1] = 1
  end
  return changes
end

--- Put an execution into `waiting`; it is claimable immediately.
function requeue.ready(tag, id, rec, now, changes)
  local before = rec.state
  if rec.limited and before == 'active' then limits.leave(tag, id, rec, before, now) end
  changes[#changes + 1] = 'state'
  changes[#changes + 1] = 'waiting'
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, { 'hold', 'due', 'timeout_at', 'blocker', 'retry_at' })
  index.move(tag, id, rec, before)
  ready.add(tag, id, rec)
  timers.arm(tag, id, rec, now)
end

--- Add to `changes` that the attempt is interrupted and will continue, with what is left of its timeout.
function requeue.open(rec, now, changes)
  changes[#changes + 1] = 'open'
  changes[#changes + 1] = '1'
  if rec.timeout_at then
    changes[#changes + 1] = 'timeout_left'
    changes[#changes + 1] = tonumber(rec.timeout_at) - now
  end
  return changes
end

--- Put an execution into `delayed`, held by `hold`, until `run_at` if that is given.
function requeue.later(tag, id, rec, now, run_at, hold, changes)
  if run_at and run_at <= now then return requeue.ready(tag, id, rec, now, changes) end
  local before = rec.state
  if rec.limited and before == 'active' then limits.leave(tag, id, rec, before, now) end
  for _, value in ipairs({ 'state', 'delayed', 'hold', hold, run_at and 'due', run_at }) do
    changes[#changes + 1] = value
  end
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, run_at and { 'timeout_at' } or { 'timeout_at', 'due' })
  index.move(tag, id, rec, before)
  timers.arm(tag, id, rec, now)
end
