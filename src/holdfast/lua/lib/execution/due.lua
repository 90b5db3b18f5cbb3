--- What happens to an execution when its timer fires.
--- @requires lib/core/keys lib/core/record lib/core/timers lib/execution/requeue
--- @requires lib/execution/retry lib/execution/finish lib/core/log lib/waitpoint/suspensions lib/limit/limits
--- @requires lib/admin/archive lib/core/tally lib/session/conversations lib/core/settings
--- @requires lib/execution/children
local due = {}

-- The first reclaim is immediate; a task that keeps killing its workers is slowed down.
local RECLAIM_BACKOFF_MS, RECLAIM_BACKOFF_MOST_MS = 1000, 60000
local DEFAULT_MAX_RECLAIMS = 20

local function reclaim_delay(reclaims)
  if reclaims == 1 then return 0 end
  return math.min(RECLAIM_BACKOFF_MOST_MS, RECLAIM_BACKOFF_MS * 2 ^ (reclaims - 2))
end

local function attempt_of(rec) return tonumber(rec.attempts) - 1 end

--- The worker is gone: start a new attempt, or fail an execution that keeps killing its workers.
local function reclaim(tag, id, rec, now)
  tally.add(tag, 'lease_expired')
  local reclaims = tonumber(rec.reclaims or 0) + 1
  local entry = { at = now, event = 'lease_expired', attempt = attempt_of(rec), worker = rec.worker }
  record.clear(tag, id, rec, { 'fence' })
  if reclaims > tonumber(rec.max_reclaims or DEFAULT_MAX_RECLAIMS) then
    entry.error = '{"type":"reclaim_limit","message":"lost its worker '
      .. reclaims
      .. ' times, more than max_reclaims allows"}'
    finish.now(tag, id, rec, 'failed', now, { 'reclaims', reclaims }, entry)
    return
  end
  log.append(tag, id, rec, entry)
  local run_at = now + reclaim_delay(reclaims)
  requeue.later(tag, id, rec, now, run_at, 'reclaim', { 'reclaims', reclaims, 'turn', 'reclaim' })
end

local TIMED_OUT = '{"type":"attempt_timeout","message":"the attempt ran longer than its timeout of %g s"}'

local function time_out(tag, id, rec, now)
  tally.add(tag, 'timed_out')
  record.clear(tag, id, rec, { 'fence' })
  retry.settle(tag, id, rec, now, {
    event = 'timed_out',
    attempt = attempt_of(rec),
    error = TIMED_OUT:format(tonumber(rec.attempt_timeout or 0) / 1000),
  })
end

local function expire(tag, id, rec, now)
  tally.add(tag, 'deadline_passed')
  finish.now(tag, id, rec, 'expired', now, {}, {
    event = 'expired',
    attempt = record.open_attempt(rec),
  })
end

--- The retention of an execution is over: remove it, unless its parent or the archive still needs it.
local function leave(tag, id, rec, now)
  local keep = rec.child and (rec.keep or settings.keep(tag, rec.tenant, rec.state))
  local due_at = keep and children.kept_until(tag, id, rec.tenant, keep, now)
  if due_at then
    record.write(tag, id, rec, { 'due', due_at })
    timers.arm(tag, id, rec, now)
  elseif not archive.hold(tag, id, rec) then
    finish.forget(tag, id, rec)
  end
end

local function passed(instant, now) return instant and tonumber(instant) <= now end

--- Fire the timer of an execution: do the first action that is due, or correct the timer.
function due.execution(tag, id, now)
  local rec = record.read(tag, id)
  if not rec then
    server.call('ZREM', keys.timers(tag), 'x:' .. id)
    return
  end
  -- One call fires many timers, so what is bound to this execution is left to a timer of its own.
  rec.timed = true
  if record.is_terminal(rec.state) then
    if passed(rec.due, now) then return leave(tag, id, rec, now) end
    timers.arm(tag, id, rec, now)
  elseif passed(rec.deadline, now) then
    expire(tag, id, rec, now)
  elseif rec.state == 'active' and passed(rec.timeout_at, now) then
    time_out(tag, id, rec, now)
  elseif rec.state == 'active' and passed(rec.due, now) then
    reclaim(tag, id, rec, now)
  elseif rec.state == 'suspended' and passed(rec.due, now) then
    if conversations.waits(rec) then
      conversations.time_out(tag, id, rec, now)
    else
      suspensions.due(tag, id, rec, now)
    end
  elseif rec.state == 'delayed' and passed(rec.due, now) then
    requeue.ready(tag, id, rec, now, {})
  elseif rec.state == 'rate_limited' and passed(rec.due, now) then
    requeue.ready(tag, id, rec, now, {})
  elseif limits.is_granted(rec) and passed(rec.due, now) then
    limits.expire(tag, id, rec, now)
  else
    timers.arm(tag, id, rec, now)
  end
end
