--- Executions that a limit holds back. The limit remembers who waits for it and says when there is
--- room; an execution looks by itself only rarely, in case that message was lost in a failover.
--- @requires lib/core/record lib/core/index lib/core/timers lib/core/log lib/limit/limits
--- @requires lib/execution/requeue lib/limit/outbox
local blocking = {}

local SAFETY_MS = 600000
-- What an attempt leaves in the record that no holder began.
local ATTEMPT = { 'attempts', 'started', 'claimed', 'fence', 'worker' }

--- Spread over half of the time, so that executions blocked together do not look together.
local function look_at(id, now)
  local share = tonumber(server.sha1hex(id):sub(1, 8), 16) / 0xffffffff
  return now + math.floor(SAFETY_MS * (1 + share) / 2)
end

--- End a grant, or a first lease, that was not admitted. `why` has the limit that holds it back
--- (`blocker`), when that expects to have room (`retry_at`), when to look anyway if it could not be asked
--- (`after_ms`), and which limits may have admitted it before (`touched`).
function blocking.hold(tag, id, rec, why, now)
  local before = rec.state
  if before == 'active' then record.clear(tag, id, rec, ATTEMPT) end
  if why.touched ~= '' then outbox.put(tag, now, 'r', id, rec.epoch, 0, why.touched) end
  if rec.woken == why.blocker then
    if before == 'active' then
      record.write(tag, id, rec, { 'state', 'waiting' })
      index.move(tag, id, rec, before)
    end
    return limits.free(tag, id, rec, now)
  end
  local hold = why.blocker:sub(1, 2) == 'b:' and 'budget' or 'quota'
  local due = why.after_ms and now + why.after_ms or look_at(id, now)
  local changes = { 'state', 'rate_limited', 'hold', hold, 'blocker', why.blocker, 'due', due }
  if why.retry_at then
    changes[#changes + 1] = 'retry_at'
    changes[#changes + 1] = why.retry_at
  end
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, { 'woken' })
  index.move(tag, id, rec, before)
  timers.arm(tag, id, rec, now)
  log.append(tag, id, rec, { at = now, event = 'rate_limited', by = why.blocker, retry_at = why.retry_at })
end

--- A limit has room for an execution that waited for it, and a quota keeps it for a while: `woken`
--- says so until the execution is claimed. The message may overtake the one that holds the execution
--- back; then it is remembered until that comes.
function blocking.wake(tag, id, blocker, now)
  local rec = record.read(tag, id)
  if not rec then return end
  if rec.state == 'rate_limited' and rec.blocker == blocker then
    requeue.ready(tag, id, rec, now, { 'woken', blocker })
  elseif limits.is_asking(rec) then
    record.write(tag, id, rec, { 'woken', blocker })
  end
end
