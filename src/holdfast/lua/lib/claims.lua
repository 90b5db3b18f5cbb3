--- Opening a lease on a ready execution, and what a claim hands to the worker.
--- @requires lib/keys lib/record lib/index lib/timers lib/log lib/lease
local claims = {}

-- Longer than any caller repeats a call whose reply it lost.
local MEMORY_MS = 60000

local HANDED = {
  'tenant', 'lane', 'kind', 'requires', 'priority', 'born', 'attempts', 'turn', 'epoch',
  'lease_until', 'timeout_at', 'deadline', 'failures', 'reclaims',
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

--- The attempt that a claim opens, or goes on with after a delay or a wait.
local function next_attempt(rec)
  if rec.open then return tonumber(rec.attempts) - 1, 'resumed', rec.timeout_left end
  return tonumber(rec.attempts or 0), 'claimed', rec.attempt_timeout
end

--- Lease one execution that was taken out of the ready sets. Nil if it must not run.
function claims.open(tag, id, request, worker, lease_ms, now)
  local rec = record.read(tag, id)
  if not rec or rec.state ~= 'waiting' then return nil end
  -- Its timer is due and will end it.
  if rec.deadline and tonumber(rec.deadline) <= now then return nil end

  local attempt, event, timeout = next_attempt(rec)
  local epoch = tonumber(rec.epoch or 0) + 1
  local changes = {
    'state', 'active',
    'attempts', attempt + 1,
    'epoch', epoch,
    'fence', lease.fence(request, epoch, attempt),
    'worker', worker,
    'lease_until', now + lease_ms,
    'started', rec.started or now,
  }
  if timeout then
    changes[#changes + 1] = 'timeout_at'
    changes[#changes + 1] = now + tonumber(timeout)
  end
  record.write(tag, id, rec, changes)
  record.clear(tag, id, rec, { 'open', 'timeout_left' })
  index.leave(tag, id, rec, 'waiting')
  index.enter(tag, id, rec)
  timers.arm(tag, id, rec, now)
  log.append(tag, id, {
    at = now,
    event = event,
    attempt = attempt,
    epoch = epoch,
    worker = worker,
    kind = rec.turn,
  })
  return hand(tag, id, rec)
end

--- Remember what a request got, so that repeating it after a lost reply gets the same.
function claims.remember(tag, request, ids)
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
