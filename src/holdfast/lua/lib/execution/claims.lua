--- Opens a lease on a ready execution, and collects what the worker gets with a claim.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/timers lib/core/log
--- @requires lib/execution/lease lib/waitpoint/suspensions lib/graph/members lib/stream/frames
--- @requires lib/limit/limits lib/execution/steps
local claims = {}

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 30000

local HANDED = {
  'tenant', 'lane', 'kind', 'requires', 'priority', 'born', 'attempts', 'turn', 'epoch',
  'due', 'timeout_at', 'deadline', 'replays', 'trace', 'continued', 'tail',
}

-- What an interrupted attempt leaves for the next claim.
local INTERRUPTED = { 'open', 'timeout_left', 'woken', 'kept', 'tail' }

--- Add the session of an execution to what is handed out. Returns the one step that a worker lacks
--- which keeps the coroutine.
local function conversing(tag, id, rec, fields)
  local key = keys.session(tag, (id:match('^(.+)~%d+$')))
  local names = { 'env', 'endpoint', 'conversation', 'user', 'turn' }
  for i, value in ipairs(server.call('HMGET', key, unpack(names))) do
    fields[#fields + 1] = 's_' .. names[i]
    fields[#fields + 1] = value or ''
  end
  if not rec.tail then return nil end
  return { rec.awaits, server.call('HGET', keys.steps(tag, id), rec.awaits) }
end

--- id, fields as name, value pairs, input, tags, steps as name, value pairs, the signals of the last
--- wait, and of a member of a graph what its upstreams pass on.
function claims.hand(tag, id, rec)
  local fields, size = {}, 0
  for i = 1, #HANDED do
    local name = HANDED[i]
    local value = rec[name]
    if value then
      fields[size + 1], fields[size + 2] = name, value
      size = size + 2
    end
  end
  if rec.limited then
    fields[#fields + 1] = 'limits'
    fields[#fields + 1] = limits.of(tag, id, rec)
  end
  local journal
  if rec.session then journal = conversing(tag, id, rec, fields) end
  journal = journal or rec.steps and steps.all(tag, id, rec) or ''
  local tags = rec.tagged and cmsgpack.pack(record.tags(tag, id, rec)) or ''
  local signals = rec.resumed and suspensions.delivered(tag, id) or ''
  -- The input with which a member starts again is complete.
  local passed = rec.inputs and not rec.continued and members.passed(tag, id, rec.graph) or nil
  return { id, fields, record.input(tag, id, rec), tags, journal, signals, passed }
end

--- The changes of a claim to a record: it opens an attempt, or continues the one that a delay or a wait
--- interrupted.
local function opening(rec, request, worker, lease_ms, now)
  local attempt = rec.open and rec.attempts - 1 or tonumber(rec.attempts or 0)
  -- An execution with limits has the epoch of its grant.
  local epoch = tonumber(rec.epoch or 0) + (rec.limited and 0 or 1)
  local changes = {
    'state', 'active',
    'attempts', attempt + 1,
    'epoch', epoch,
    'fence', lease.fence(request, epoch, attempt),
    'worker', worker,
    'due', now + lease_ms,
  }
  local timeout = rec.open and rec.timeout_left or rec.attempt_timeout
  if timeout then
    changes[#changes + 1] = 'timeout_at'
    changes[#changes + 1] = now + tonumber(timeout)
  end
  if not rec.started then
    changes[#changes + 1] = 'started'
    changes[#changes + 1] = now
  end
  if not rec.open then
    changes[#changes + 1] = 'claimed'
    changes[#changes + 1] = now
  end
  return changes
end

--- Lease one execution that was taken out of the ready sets. Nil if it must not run; else what the
--- worker gets, and the record, for `settle`. The third value is true for a grant, with limits.
function claims.open(tag, id, request, worker, lease_ms, now)
  local rec = record.read(tag, id)
  if not rec then return nil end
  -- A claim by an older library, which cannot read every record, broke off after it wrote this one.
  if rec.state == 'active' then claims.settle(tag, { { id, rec } }, now) end
  if rec.state ~= 'waiting' then return nil end
  -- Its timer is due and will end it.
  if rec.deadline and tonumber(rec.deadline) <= now then return nil end
  if rec.graph and members.barred(tag, rec) then return nil end
  if rec.limited then return limits.grant(tag, id, rec, request, now), rec, true end
  return claims.start(tag, id, rec, request, worker, lease_ms, now), rec
end

--- Lease an execution that may run; returns what the worker gets.
function claims.start(tag, id, rec, request, worker, lease_ms, now)
  local resumed = rec.open
  -- Nothing ran since the worker parked the coroutine: a grant of limits is an epoch of its own.
  local last = tonumber(rec.epoch or 0) - (rec.limited and 1 or 0)
  local keeps = resumed and tonumber(rec.kept) == last and rec.worker == worker
  record.write(tag, id, rec, opening(rec, request, worker, lease_ms, now))
  record.clear(tag, id, rec, INTERRUPTED)
  if keeps then record.write(tag, id, rec, { 'tail', '1' }) end
  -- The transcript of a session tells its turns.
  if resumed and not rec.session then
    log.append(tag, id, rec, {
      at = now,
      event = 'resumed',
      attempt = rec.attempts - 1,
      epoch = rec.epoch,
      worker = worker,
    })
  end
  if rec.streamed and not resumed then frames.begin_attempt(tag, id, rec, now) end
  return claims.hand(tag, id, rec)
end

--- List the leased executions as active and set their timers; one call for all of them, because the
--- overhead of a write exceeds its contents.
function claims.settle(tag, opened, now)
  index.move_many(tag, opened, 'waiting')
  timers.arm_many(tag, opened, now)
end

--- Remember the result of a request under a key, so that a repetition after a lost reply gets the same.
function claims.remember(memory, ids) server.call('SET', memory, table.concat(ids, ' '), 'PX', MEMORY_MS) end

--- Whether an execution runs under a lease of this request.
function claims.holds(rec, request)
  return rec.state == 'active' and rec.fence == lease.fence(request, rec.epoch, rec.attempts - 1)
end

--- The leases and grants of a request that are still held.
function claims.again(tag, request, known)
  local held = { 'ok' }
  for id in known:gmatch('%S+') do
    local rec = record.read(tag, id)
    if rec and claims.holds(rec, request) then
      limits.ask_again(tag, id, rec)
      held[#held + 1] = claims.hand(tag, id, rec)
    elseif rec and rec.grant == request and limits.is_granted(rec) then
      limits.ask_again(tag, id, rec)
      held[#held + 1] = { id, tonumber(rec.epoch), limits.of(tag, id, rec) }
    end
  end
  return held
end
