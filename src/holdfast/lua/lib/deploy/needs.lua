--- Executions that need a revision (`rev` in their records), in the partition of each. lib/core/index.lua
--- calls at every change of a state, so the sets agree with the records and a count is the size of a set.
--- They are kept per tenant: an execution of another tenant than the deployment's, which no host of the
--- revision claims, is not counted, and so keeps no drain open.
--- A turn is the time for which an execution runs: from when it is ready until it waits or ends. Its
--- beginning is the score of the execution among those that run.
--- @requires lib/core/keys lib/core/clock lib/core/record lib/core/reply lib/core/wake lib/deploy/departures
--- @requires lib/deploy/figures
local needs = {}

-- A router that has not heard of a drain for this long does not exist any more.
local CLOSED_MS = 86400000
-- Longer than a call that was sent can be on its way.
local OPENED_MS = 3600000
-- Waits whose ends one call looks up.
local MOST_ENDS = 1000

local function sets(tag, tenant, revision)
  return keys.revision_waits(tag, tenant, revision), keys.revision_runs(tag, tenant, revision)
end

--- An execution does not need its revision any more.
function needs.leave(tag, id, rec, now)
  local waits, runs = sets(tag, rec.tenant, rec.rev)
  local known = server.call('ZREM', waits, id) + server.call('ZREM', runs, id)
  if known > 0 then departures.add(tag, rec, now) end
  if server.call('EXISTS', waits, runs) == 0 and needs.is_closed(tag, rec.tenant, rec.rev) then
    wake.drained(tag, rec.rev)
  end
end

local FAILED = { failed = true, expired = true }

--- Count the turn of an execution that runs no more. A turn that was cancelled says nothing.
local function end_turn(tag, id, rec, now)
  local runs = keys.revision_runs(tag, rec.tenant, rec.rev)
  local began = rec.state ~= 'cancelled' and server.call('ZSCORE', runs, id)
  if began then figures.add(tag, rec, now - began, FAILED[rec.state], now) end
end

--- List an execution under its revision, according to its state.
function needs.place(tag, id, rec)
  local waits, runs = sets(tag, rec.tenant, rec.rev)
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
    needs.leave(tag, id, rec, now)
  end
end

--- A message that was buffered begins the next turn of an execution that keeps running.
function needs.turn(tag, id, rec, now)
  end_turn(tag, id, rec, now)
  server.call('ZADD', keys.revision_runs(tag, rec.tenant, rec.rev), 'XX', now, id)
end

--- Whether a revision starts nothing more in this partition.
function needs.is_closed(tag, tenant, revision)
  return server.call('EXISTS', keys.revision_closed(tag, tenant, revision)) == 1
end

--- The refusal of `id` if it would start on a revision that is closed, or nil. An execution that needs
--- the revision may start others on it.
function needs.refusal(tag, id, tenant, revision, starter)
  if not revision or not needs.is_closed(tag, tenant, revision) then return nil end
  local waits, runs = sets(tag, tenant, revision)
  if starter and (server.call('ZSCORE', runs, starter) or server.call('ZSCORE', waits, starter)) then
    return nil
  end
  return reply.no('revision_draining', 'id', id)
end

--- Whether both stamps, `STAGED VERSION`, are of one revision, and the first is of a later version.
local function is_later(stamp, other)
  local staged, version = stamp:match('^(%d+) (%d+)$')
  local other_staged, other_version = other:match('^(%d+) (%d+)$')
  return staged ~= nil and staged == other_staged and tonumber(version) > tonumber(other_version)
end

--- Let a revision start executions here, unless it was closed in a later version than that of `stamp`.
function needs.open(tag, tenant, revision, stamp)
  local closed, opened = keys.revision_closed(tag, tenant, revision), keys.revision_opened(tag, tenant, revision)
  if stamp and is_later(server.call('GET', closed) or '', stamp) then return end
  server.call('DEL', closed, opened)
  if stamp then server.call('SET', opened, stamp, 'PX', OPENED_MS) end
end

--- Let it start no more, unless it was opened since the version of `stamp`: who drains it is late then.
function needs.close(tag, tenant, revision, stamp)
  local opened = stamp and server.call('GET', keys.revision_opened(tag, tenant, revision))
  if opened and not is_later(stamp, opened) then return end
  server.call('SET', keys.revision_closed(tag, tenant, revision), stamp or '1', 'PX', CLOSED_MS)
end

--- RUNNING WAITING OLDEST: how many run and wait, and since when the oldest waits, or empty.
function needs.count(tag, tenant, revision)
  local waits, runs = sets(tag, tenant, revision)
  local oldest = server.call('ZRANGE', waits, 0, 0, 'WITHSCORES')[2]
  return { server.call('ZCARD', runs), server.call('ZCARD', waits), oldest or '' }
end

--- TIMED LAST: how many waits time ends, of the oldest, and when the last of them ends, or nil.
function needs.ends(tag, tenant, revision)
  local members = {}
  for _, id in ipairs(server.call('ZRANGE', keys.revision_waits(tag, tenant, revision), 0, MOST_ENDS - 1)) do
    members[#members + 1] = 'x:' .. id
  end
  if #members == 0 then return 0 end
  local timed, last = 0, nil
  for _, due in ipairs(server.call('ZMSCORE', keys.timers(tag), unpack(members))) do
    if due then timed, last = timed + 1, math.max(last or 0, tonumber(due)) end
  end
  return timed, last
end

--- The ids of up to `limit` executions from a place on: those that wait, the oldest first, then the others.
function needs.page(tag, tenant, revision, from, limit)
  local waits, runs = sets(tag, tenant, revision)
  local ids = server.call('ZRANGE', waits, from, from + limit - 1)
  if #ids == limit then return ids end
  local first = math.max(0, from - server.call('ZCARD', waits))
  for _, id in ipairs(server.call('ZRANGE', runs, first, first + limit - #ids - 1)) do ids[#ids + 1] = id end
  return ids
end
