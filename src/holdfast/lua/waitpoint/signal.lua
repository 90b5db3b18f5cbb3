--- Send a signal to a waitpoint. The caller has authenticated the sender: as an operator, or by a token,
--- whose mint time and the grace period of whose key are checked here.
--- @key tag the partition
--- @arg id of the execution @arg number of the waitpoint
--- @arg made of the token, empty without @arg grace_until of the token's key, or empty
--- @arg key idempotency key @arg name @arg payload @arg type @arg identity of the source @arg correlation
--- @arg version for which schema and expressions were checked, or empty
--- @arg fitting leaves whose expression holds, comma separated
--- @arg request id of this call: repeated, it gets its first answer
--- @arg limit that the answer grants to who asks for more of a budget, or empty
--- @arg person that the token names, or empty
--- @ok EFFECT NUMBER, and 1 if it answers who asks for more, else 0
--- @ok check VERSION SCHEMA and per leaf with an expression: LEAF EXPRESSION
--- @no invalid_token | token_expired | waitpoint_not_found | waitpoint_closed | token_used_up
--- @no signal_not_allowed | too_many_signals
--- @event woken
--- @flags write
--- @requires lib/core/clock lib/core/record lib/waitpoint/waitpoints lib/waitpoint/suspensions
--- @requires lib/waitpoint/conditions lib/waitpoint/signals
--- @requires lib/execution/due lib/waitpoint/senders lib/waitpoint/asking

--- Whether time has ended the wait already, though its timer has not fired yet.
local function is_overdue(rec, now)
  if rec.state ~= 'suspended' then return false end
  return (rec.due and tonumber(rec.due) <= now) or (rec.deadline and tonumber(rec.deadline) <= now)
end

--- What the caller must check before this signal counts, or nil if it has, or there is nothing.
local function unchecked(wait, point, version, a)
  if a.version == version then return nil end
  local rows = {}
  if wait then
    conditions.walk(wait.tree, function(node)
      if node.where and wait.points[node.at] == a.number then rows[#rows + 1] = { node.leaf, node.where } end
    end)
  end
  if point.schema or #rows > 0 then return { 'ok', 'check', version, point.schema or '', rows } end
end

--- Count the signal. Returns its effect.
local function count(wait, point, a, number, signal)
  if not wait then
    point.held = point.held or {}
    point.held[#point.held + 1] = number
    return 'buffered'
  end
  local leaves = {}
  for leaf in a.fitting:gmatch('%d+') do leaves[tonumber(leaf)] = true end
  return suspensions.offer(wait, a.number, number, signal, leaves)
end

--- Store the signal and apply its effect.
local function record_signal(tag, rec, point, wait, now, a)
  local id, number = a.id, tonumber(rec.signals or 0) + 1
  local signal = {
    at = now, name = a.name, payload = a.payload, type = a.type, identity = a.identity,
    correlation = a.correlation, key = a.key, point = a.number, request = a.request,
  }
  signal.effect = count(wait, point, a, number, signal)
  local resumes = wait and conditions.hold(wait, now)
  if resumes then signal.effect = 'resumed' end
  signals.append(tag, id, rec, signal)
  signals.remember(tag, id, a.number, a.key, number)
  if a.made ~= '' then point.used = (point.used or 0) + 1 end
  if point.asks then asking.answer(tag, waitpoints.id(id, a.number), point.asks, a.name, a.limit, now) end
  waitpoints.write(tag, id, a.number, point)
  if resumes then
    local entry = { by = 'signal', signal = a.name, waitpoint = waitpoints.id(id, a.number) }
    suspensions.resume(tag, id, rec, wait, now, entry)
  elseif wait then
    suspensions.write(tag, id, wait)
  end
  return { 'ok', signal.effect, number, point.asks and 1 or 0 }
end

local NAMES = {
  'id', 'number', 'made', 'grace_until', 'key', 'name', 'payload', 'type', 'identity', 'correlation',
  'version', 'fitting', 'request', 'limit', 'person',
}

local function run(tag, args)
  local a = {}
  for i, name in ipairs(NAMES) do a[name] = args[i] end
  a.number = tonumber(a.number)
  local id, now = a.id, clock.now(tag)
  local rec = record.read(tag, id)
  local point = rec and waitpoints.read(tag, id, a.number)
  local refusal = senders.refuse(id, rec, point, now, a)
  if refusal then return refusal end
  local known = signals.known(tag, id, a.number, a.key)
  if known then
    local first = cmsgpack.unpack(signals.read(tag, id, known))
    return { 'ok', first.request == a.request and first.effect or 'duplicate', known, point.asks and 1 or 0 }
  end
  if is_overdue(rec, now) then
    due.execution(tag, id, now)
    rec, point = record.read(tag, id), waitpoints.read(tag, id, a.number)
  end
  refusal = senders.refuse_more(id, rec, point, now, a)
  if refusal then return refusal end
  local wait = point.state == 'open' and suspensions.read(tag, id) or nil
  local check = unchecked(wait, point, point.state, a)
  if check then return check end

  return record_signal(tag, rec, point, wait, now, a)
end
