--- The wait of an execution: its condition, what came so far, and how it ends. One packed value:
---   key       the caller's name for it              points   numbers of its waitpoints by position
---   tree      the condition                         matches  signal numbers by leaf
---   sources, places   of the signals, by number     signals  what the resumed attempt gets
--- It stays after its end until the next one, so that a new attempt gets the same signals.
--- @requires lib/core/keys lib/core/record lib/core/index lib/core/timers lib/core/log
--- @requires lib/execution/requeue lib/execution/finish lib/waitpoint/waitpoints lib/waitpoint/conditions
--- @requires lib/waitpoint/signals lib/limit/limits lib/session/sessions
local suspensions = {}

function suspensions.read(tag, id)
  local packed = server.call('GET', keys.wait(tag, id))
  return packed and cmsgpack.unpack(packed)
end

function suspensions.write(tag, id, wait) server.call('SET', keys.wait(tag, id), cmsgpack.pack(wait)) end

--- A wait without signals. Times of the condition that are spans become moments.
function suspensions.new(key, tree, points, now)
  local wait = { key = key, tree = tree, points = points, matches = {}, sources = {}, places = {} }
  conditions.walk(tree, function(node)
    if node.op == 'leaf' then wait.matches[node.leaf] = {} end
    if node.span then node.time, node.span = now + node.span, nil end
  end)
  return wait
end

--- Count a signal. Returns its effect: whether any part of the condition wanted it, and wanted
--- it of this source.
function suspensions.offer(wait, point_number, number, signal, fitting)
  local source = (signal.type or '') .. '\0' .. (signal.identity or '')
  for position, other in ipairs(wait.points) do
    if other == point_number then
      local matched, repeated = conditions.offer(wait, position, number, signal, source, fitting)
      if matched then
        wait.sources[number], wait.places[number] = source, point_number
        return repeated and 'duplicate' or 'appended'
      end
    end
  end
  return 'ignored'
end

--- A waitpoint as it is shown, packed: with the end of the wait it is part of (`due`), how many
--- sources must answer (`wanted`), and the identities of those that did (`came`).
function suspensions.shown(tag, id, rec, number, packed)
  if rec.state ~= 'suspended' then return packed end
  local point, wait = cmsgpack.unpack(packed), suspensions.read(tag, id)
  if point.state ~= 'open' then return packed end
  point.due = tonumber(rec.wait_until)
  for position, other in ipairs(wait.points) do
    if other == number then
      local wanted, numbers = conditions.sources_wanted(wait, position)
      local seen
      point.wanted, point.came, seen = wanted, wanted and {}, {}
      for _, signal in ipairs(numbers or {}) do
        local source = wait.sources[signal]
        if not seen[source] then point.came[#point.came + 1] = source:match('%z(.*)') end
        seen[source] = true
      end
    end
  end
  return cmsgpack.pack(point)
end

local function matched(wait)
  local seen, numbers = {}, {}
  for _, list in ipairs(wait.matches) do
    for _, number in ipairs(list) do
      if not seen[number] then
        seen[number] = true
        numbers[#numbers + 1] = number
      end
    end
  end
  table.sort(numbers)
  return numbers
end

--- End a wait whose condition holds, or that an operator or its timeout ended by signal `extra`.
function suspensions.close(tag, id, rec, wait, now, extra)
  wait.signals = matched(wait)
  if extra then wait.signals[#wait.signals + 1] = extra end
  for _, number in ipairs(wait.points) do
    local point = waitpoints.read(tag, id, number)
    if point.state ~= 'closed' then waitpoints.close(tag, id, rec, number, point, now, 'resumed') end
  end
  suspensions.write(tag, id, wait)
end

--- Make a suspended execution ready to continue; `entry` is the log entry with the reason.
function suspensions.resume(tag, id, rec, wait, now, entry, extra)
  suspensions.close(tag, id, rec, wait, now, extra)
  entry.at, entry.event, entry.attempt = now, 'woken', rec.attempts - 1
  log.append(tag, id, rec, entry)
  record.clear(tag, id, rec, { 'wait_until', 'on_timeout' })
  requeue.ready(tag, id, rec, now, { 'resumed', '1' })
end

local function due_of(rec, wait, now)
  local time, timeout = conditions.next_time(wait, now), tonumber(rec.wait_until)
  if time and timeout then return math.min(time, timeout) end
  return time or timeout
end

--- Set the timer of a suspended execution to what time may change next.
local function rearm(tag, id, rec, wait, now)
  local due = due_of(rec, wait, now)
  if due then
    record.write(tag, id, rec, { 'due', due })
  else
    record.clear(tag, id, rec, { 'due' })
  end
  timers.arm(tag, id, rec, now)
end

--- Suspend an execution whose record has `wait_until` and `on_timeout`, if it has a timeout.
function suspensions.suspend(tag, id, rec, wait, now, hold)
  local changes = { 'state', 'suspended', 'hold', hold, 'open', '1' }
  if rec.limited then limits.leave(tag, id, rec, rec.state, now) end
  if rec.timeout_at then
    changes[#changes + 1] = 'timeout_left'
    changes[#changes + 1] = tonumber(rec.timeout_at) - now
  end
  record.clear(tag, id, rec, { 'timeout_at', 'resumed' })
  local before = rec.state
  record.write(tag, id, rec, changes)
  index.move(tag, id, rec, before)
  rearm(tag, id, rec, wait, now)
  -- Who waits for the replies of this turn gets no more of them for now.
  if rec.session then sessions.notify(tag, (sessions.of(id)), now) end
end

local TIMED_OUT = '{"type":"wait_timeout","message":"no answer came in time"}'

local ON_TIMEOUT = {
  fail = function(tag, id, rec, _, now)
    finish.now(tag, id, rec, 'failed', now, {}, {
      event = 'failed', attempt = rec.attempts - 1, error = TIMED_OUT,
    })
  end,
  cancel = function(tag, id, rec, _, now)
    finish.now(tag, id, rec, 'cancelled', now, {}, {
      event = 'cancelled', attempt = rec.attempts - 1, reason = 'no answer came in time',
    })
  end,
  expire = function(tag, id, rec, _, now)
    finish.now(tag, id, rec, 'expired', now, {}, {
      event = 'expired', attempt = rec.attempts - 1, reason = 'no answer came in time',
    })
  end,
  resume = function(tag, id, rec, wait, now)
    local signal = { at = now, name = 'timeout', payload = 'null', type = 'system', effect = 'resumed' }
    local number = signals.append(tag, id, rec, signal)
    suspensions.resume(tag, id, rec, wait, now, { by = 'timeout' }, number)
  end,
  escalate = function(tag, id, rec, wait, now)
    log.append(tag, id, rec, { at = now, event = 'escalated', attempt = rec.attempts - 1 })
    record.clear(tag, id, rec, { 'wait_until', 'on_timeout' })
    record.write(tag, id, rec, { 'hold', 'escalated' })
    rearm(tag, id, rec, wait, now)
  end,
}

--- The timer of a suspended execution: time may fulfil its condition, or end it.
function suspensions.due(tag, id, rec, now)
  local wait = suspensions.read(tag, id)
  if conditions.hold(wait, now) then
    suspensions.resume(tag, id, rec, wait, now, { by = 'time' })
  elseif rec.wait_until and tonumber(rec.wait_until) <= now then
    ON_TIMEOUT[rec.on_timeout](tag, id, rec, wait, now)
  else
    rearm(tag, id, rec, wait, now)
  end
end

--- What a claim hands out after a wait: its key and the signals, packed.
function suspensions.delivered(tag, id)
  local wait = suspensions.read(tag, id)
  local handed = { wait.key }
  for _, number in ipairs(wait.signals) do handed[#handed + 1] = signals.read(tag, id, number) end
  return handed
end
