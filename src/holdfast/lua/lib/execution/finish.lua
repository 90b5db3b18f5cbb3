--- The only way into a terminal state: every path ends here, so every end is announced.
--- @requires lib/core/keys lib/core/record lib/core/index lib/execution/ready lib/core/settings
--- @requires lib/core/timers lib/core/log lib/core/wake lib/waitpoint/waitpoints lib/stream/frames
--- @requires lib/admin/schedules lib/limit/limits lib/execution/children
--- @requires lib/limit/outbox lib/core/causes
--- @with lib/graph/resolve lib/session/conversations lib/execution/bonds
local finish = {}

local TRANSIENT = {
  'hold', 'open', 'timeout_at', 'timeout_left', 'watched', 'wait_until', 'on_timeout', 'resumed',
  'woken', 'blocker', 'retry_at', 'awaits', 'since', 'kept', 'tail', 'bonds',
  'listener', 'listens',
}
-- A member of a graph has no separate retention: it is kept as long as its graph.
local MEMBERS_OWN = { 'due' }

--- Write the end of `rec` in `state` to its record. `changes` are further fields.
function finish.write(tag, id, rec, state, now, changes)
  changes[#changes + 1] = 'state'
  changes[#changes + 1] = state
  changes[#changes + 1] = 'ended'
  changes[#changes + 1] = now
  if not rec.graph then
    changes[#changes + 1] = 'due'
    changes[#changes + 1] = now + tonumber(rec.keep or settings.keep(tag, rec.tenant, state))
  end
  record.write(tag, id, rec, changes)
end

--- List executions whose end is written, and set their timers; `many` is a list of { id, rec } which all
--- were in state `from`. With `write` this is all that the end of a plain execution takes.
function finish.list(tag, many, from, now)
  index.move_many(tag, many, from)
  timers.arm_many(tag, many, now)
end

--- End `rec` in `state`. `changes` are further fields; `entry` is the log entry without its time,
--- absent for a completion, which is derived from the record.
function finish.now(tag, id, rec, state, now, changes, entry)
  local before, watched, bonds = rec.state, rec.watched, rec.bonds
  if before == 'waiting' then ready.remove(tag, id, rec) end
  if rec.limited then limits.leave(tag, id, rec, before, now) end
  local failed = state == 'failed' or state == 'expired'
  if failed then
    changes[#changes + 1] = 'cause'
    changes[#changes + 1] = causes.of(state, entry)
    entry.cause = nil
  end
  finish.write(tag, id, rec, state, now, changes)
  if failed then causes.enter(tag, id, rec) end
  record.clear(tag, id, rec, TRANSIENT)
  if rec.graph then record.clear(tag, id, rec, MEMBERS_OWN) end
  index.move(tag, id, rec, before)
  timers.arm(tag, id, rec, now)
  if entry then
    entry.at = now
    log.append(tag, id, rec, entry)
  end
  if rec.waitpoints then waitpoints.close_all(tag, id, rec, now) end
  if watched then finish.announce(tag, id, state) end
  if rec.on_end then outbox.put(tag, now, 'e', id, now) end
  if rec.schedule then schedules.ended(tag, id, now) end
  -- lib/graph/resolve.lua, lib/session/conversations.lua and lib/execution/bonds.lua, which themselves
  -- end executions.
  if rec.graph then finish.resolve(tag, id, rec, now) end
  if rec.session then finish.converse(tag, id, rec, now) end
  if rec.bond then finish.part(tag, id, rec, now) end
  if bonds then finish.release(tag, id, rec, now) end
end

--- Notify every process that waits for this execution.
function finish.announce(tag, id, state)
  local key = keys.watchers(tag, id)
  for _, process in ipairs(server.call('SMEMBERS', key)) do
    wake.process(tag, process, state .. ' ' .. id)
  end
  server.call('DEL', key)
end

--- Remove all data of an execution.
function finish.forget(tag, id, rec)
  index.remove_tags(tag, id, rec)
  index.leave(tag, id, rec, rec.state)
  if rec.cause then causes.leave(tag, id, rec) end
  children.remove(tag, id, rec)
  server.call('ZREM', keys.timers(tag), 'x:' .. id)
  server.call(
    'UNLINK',
    keys.record(tag, id),
    keys.input(tag, id),
    keys.result(tag, id),
    keys.tags(tag, id),
    keys.note(tag, id),
    keys.log(tag, id),
    keys.steps(tag, id),
    keys.watchers(tag, id),
    keys.waitpoints(tag, id),
    keys.wait(tag, id),
    keys.signals(tag, id),
    keys.signal_keys(tag, id),
    keys.limits(tag, id),
    keys.followers(tag, id),
    keys.children(tag, id)
  )
  if rec.streamed then frames.forget(tag, id) end
  if rec.mail then server.call('UNLINK', keys.unread(tag, id), keys.mail(tag, id), keys.mail_keys(tag, id)) end
  if rec.view then server.call('UNLINK', keys.view(tag, id)) end
end
