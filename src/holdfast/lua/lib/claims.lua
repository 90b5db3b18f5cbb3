--- Opening a lease on a ready execution, and what a claim hands to the worker.
--- @requires lib/keys lib/record lib/index lib/timers lib/log lib/lease
local claims = {}

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 30000

local HANDED = {
  'tenant', 'lane', 'kind', 'requires', 'priority', 'born', 'attempts', 'turn', 'epoch',
  'due', 'timeout_at', 'deadline', 'replays', 'trace',
}

--- id, fields as name, value pairs, input, tags, steps as name, value pairs.
local function hand(tag, id, rec)
  local fields = {}
  for _, name in ipairs(HANDED) do
    if rec[name] then
      fields[#fields + 1] = name
      fields[#fields + 1] = rec[name]
    end
  end
  local steps = rec.steps and server.call('HGETALL', keys.steps(tag, id)) or {}
  local tags = rec.tagged and cmsgpack.pack(record.tags(tag, id, rec)) or ''
  return { id, fields, record.input(tag, id, rec), tags, steps }
end

--- What a claim changes in a record: it opens an attempt, or goes on with the one that a delay or a
--- wait interrupted.
local function opening(rec, request, worker, lease_ms, now)
  local attempt = rec.open and rec.attempts - 1 or tonumber(rec.attempts or 0)
  local epoch = tonumber(rec.epoch or 0) + 1
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

--- Lease one execution that was taken out of the ready sets. Nil if it must not run; else what
--- the worker gets, and the record, for `settle`.
function claims.open(tag, id, request, worker, lease_ms, now)
  local rec = record.read(tag, id)
  if not rec or rec.state ~= 'waiting' then return nil end
  -- Its timer is due and will end it.
  if rec.deadline and tonumber(rec.deadline) <= now then return nil end

  local resumed = rec.open
  record.write(tag, id, rec, opening(rec, request, worker, lease_ms, now))
  record.clear(tag, id, rec, { 'open', 'timeout_left' })
  if resumed then
    log.append(tag, id, rec, {
      at = now,
      event = 'resumed',
      attempt = rec.attempts - 1,
      epoch = rec.epoch,
      worker = worker,
    })
  end
  return hand(tag, id, rec), rec
end

--- Move what was opened to where active executions are listed and timed; one call for all of them,
--- because each write costs more than what it writes.
function claims.settle(tag, opened, now)
  index.move_many(tag, opened, 'waiting')
  timers.arm_many(tag, opened, now)
end

--- Remember what a request got, so that repeating it after a lost reply gets the same.
function claims.remember(tag, request, opened)
  local ids = {}
  for i, one in ipairs(opened) do ids[i] = one[1] end
  server.call('SET', keys.claim(tag, request), table.concat(ids, ' '), 'PX', MEMORY_MS)
end

--- The leases of a request that are still held.
function claims.again(tag, request, known)
  local held = { 'ok' }
  for id in known:gmatch('%S+') do
    local rec = record.read(tag, id)
    if rec and rec.state == 'active' and rec.fence == lease.fence(request, rec.epoch, rec.attempts - 1) then
      held[#held + 1] = hand(tag, id, rec)
    end
  end
  return held
end
