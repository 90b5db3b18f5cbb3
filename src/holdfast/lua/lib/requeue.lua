--- The ways back: an active execution whose attempt ended becomes delayed or ready again.
--- @requires lib/record lib/index lib/ready lib/timers
local requeue = {}

local LEASE_FIELDS = { 'lease_until', 'timeout_at' }

--- Put an execution into `waiting`, at once claimable.
function requeue.ready(tag, id, rec, now, changes)
  local before = rec.state
  changes[#changes + 1] = 'state'
  changes[#changes + 1] = 'waiting'
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, { 'hold', 'run_at', unpack(LEASE_FIELDS) })
  index.leave(tag, id, rec, before)
  index.enter(tag, id, rec)
  ready.add(tag, id, rec)
  timers.arm(tag, id, rec, now)
end

--- Put an execution into `delayed` until `run_at`, held by `hold`.
function requeue.later(tag, id, rec, now, run_at, hold, changes)
  if run_at <= now then return requeue.ready(tag, id, rec, now, changes) end
  local before = rec.state
  for _, value in ipairs({ 'state', 'delayed', 'run_at', run_at, 'hold', hold }) do
    changes[#changes + 1] = value
  end
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, LEASE_FIELDS)
  index.leave(tag, id, rec, before)
  index.enter(tag, id, rec)
  timers.arm(tag, id, rec, now)
end
