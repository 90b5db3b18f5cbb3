--- Executions that need a revision (`rev` in their records), in the partition of each. lib/core/index.lua
--- calls at every change of a state, so the sets agree with the records and a count is the size of a set.
--- A turn is the time for which an execution runs: from when it is ready until it waits or ends. Its
--- beginning is the score of the execution among those that run.
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/core/wake lib/deploy/figures
local needs = {}

-- A router that has not heard of a drain for this long does not exist any more.
local CLOSED_MS = 86400000

local FAILED = { failed = true, expired = true }

--- Count the turn of an execution that runs no more. A turn that was cancelled says nothing.
local function end_turn(tag, id, rec, now)
  local began = rec.state ~= 'cancelled' and server.call('ZSCORE', keys.revision_runs(tag, rec.rev), id)
  if began then figures.add(tag, rec.rev, now - began, FAILED[rec.state], now) end
end

--- List an execution under its revision, according to its state.
function needs.place(tag, id, rec)
  local waits, runs = keys.revision_waits(tag, rec.rev), keys.revision_runs(tag, rec.rev)
  local now = clock.now(tag)
  if rec.state == 'suspended' then
    end_turn(tag, id, rec, now)
    server.call('ZADD', waits, rec.since or now, id)
    server.call('ZREM', runs, id)
  elseif not record.is_terminal(rec.state) then
    server.call('ZADD', runs, 'NX', now, id)
    server.call('ZREM', waits, id)
  else
    end_turn(tag, id, rec, now)
    server.call('ZREM', waits, id)
    server.call('ZREM', runs, id)
    if server.call('EXISTS', waits, runs) == 0 and needs.is_closed(tag, rec.rev) then
      wake.drained(tag, rec.rev)
    end
  end
end

--- A message that was buffered begins the next turn of an execution that keeps running.
function needs.turn(tag, id, rec, now)
  end_turn(tag, id, rec, now)
  server.call('ZADD', keys.revision_runs(tag, rec.rev), 'XX', now, id)
end

--- Whether a revision starts nothing more in this partition.
function needs.is_closed(tag, revision)
  return server.call('EXISTS', keys.revision_closed(tag, revision)) == 1
end

--- The refusal of `id` if it would start on a revision that is closed, or nil. An execution that needs
--- the revision may start others on it.
function needs.refusal(tag, id, revision, starter)
  if not revision or not needs.is_closed(tag, revision) then return nil end
  local is_needed = starter
    and (
      server.call('ZSCORE', keys.revision_runs(tag, revision), starter)
      or server.call('ZSCORE', keys.revision_waits(tag, revision), starter)
    )
  if is_needed then return nil end
  return reply.no('revision_draining', 'id', id)
end

function needs.close(tag, revision)
  server.call('SET', keys.revision_closed(tag, revision), '1', 'PX', CLOSED_MS)
end

--- RUNNING WAITING OLDEST: how many run and wait, and since when the oldest waits, or empty.
function needs.count(tag, revision)
  local waits = keys.revision_waits(tag, revision)
  local oldest = server.call('ZRANGE', waits, 0, 0, 'WITHSCORES')[2]
  return {
    server.call('ZCARD', keys.revision_runs(tag, revision)),
    server.call('ZCARD', waits),
    oldest or '',
  }
end
