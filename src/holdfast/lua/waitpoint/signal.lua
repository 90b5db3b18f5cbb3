--- Send a signal to a waitpoint. Who sends it was authenticated by the caller: with a token, of
--- which its mint time and the end of its key's grace are checked here, or as an operator.
--- @key tag the partition
--- @arg id of the execution @arg number of the waitpoint
--- @arg made of the token, empty without @arg grace_until of the token's key, or empty
--- @arg key idempotency key @arg name @arg payload @arg type @arg identity of the source @arg correlation
--- @arg version for which schema and expressions were checked, or empty
--- @arg fitting leaves whose expression holds, comma separated
--- @ok EFFECT NUMBER; or check VERSION SCHEMA and per leaf with an expression: LEAF EXPRESSION
--- @no invalid_token | token_expired | waitpoint_not_found | waitpoint_closed | token_used_up
--- @no signal_not_allowed | too_many_signals
--- @event woken
--- @flags write
--- @requires lib/clock lib/record lib/reply lib/waitpoints lib/waits lib/conditions lib/signals lib/due

--- Time may have ended the wait already, though its timer has not fired yet.
local function read_current(tag, id, now)
  local rec = record.read(tag, id)
  if not rec then return nil end
  local past = (rec.due and tonumber(rec.due) <= now) or (rec.deadline and tonumber(rec.deadline) <= now)
  if rec.state == 'suspended' and past then
    due.execution(tag, id, now)
    return record.read(tag, id)
  end
  return rec
end

--- Why the sender may not, before anything is said about the state.
local function refuse_sender(id, rec, point, now, a)
  local waitpoint_id = waitpoints.id(id, a.number)
  if not rec or not point then
    if a.made == '' then return reply.no('waitpoint_not_found', 'id', waitpoint_id) end
    return reply.no('invalid_token')
  end
  if a.made ~= '' and tonumber(a.made) ~= point.made then return reply.no('invalid_token') end
  if a.grace_until ~= '' and tonumber(a.grace_until) <= now then return reply.no('token_expired') end
  local answers = not point.answerers
  for _, identity in ipairs(point.answerers or {}) do answers = answers or identity == a.identity end
  if not answers or not conditions.named(point.names, a.name) then
    return reply.no('signal_not_allowed', 'id', waitpoint_id, 'name', a.name)
  end
end

--- Why the waitpoint takes no more.
local function refuse_more(id, rec, point, now, a)
  local waitpoint_id = waitpoints.id(id, a.number)
  if not waitpoints.lives(point, now) then
    return reply.no('waitpoint_closed', 'id', waitpoint_id, 'why', point.why or 'expired')
  end
  if a.made ~= '' and point.uses and (point.used or 0) >= point.uses then
    return reply.no('token_used_up', 'id', waitpoint_id, 'limit', point.uses)
  end
  if tonumber(rec.signals or 0) >= signals.MOST then
    return reply.no('too_many_signals', 'id', id, 'limit', signals.MOST)
  end
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
  return waits.offer(wait, a.number, number, signal, leaves) and 'appended' or 'ignored'
end

local function run(tag, args)
  local a = { id = args[1], number = tonumber(args[2]), made = args[3], grace_until = args[4], key = args[5] }
  a.name, a.version, a.fitting, a.identity = args[6], args[11], args[12], args[9]
  local id, now = a.id, clock.now(tag)
  local rec = read_current(tag, id, now)
  local point = rec and waitpoints.read(tag, id, a.number)
  local refusal = refuse_sender(id, rec, point, now, a)
  if refusal then return refusal end
  if signals.known(tag, id, a.number, a.key) then return { 'ok', 'duplicate', 0 } end
  refusal = refuse_more(id, rec, point, now, a)
  if refusal then return refusal end
  local wait = point.state == 'open' and waits.read(tag, id) or nil
  local check = unchecked(wait, point, point.state, a)
  if check then return check end

  local signal = {
    at = now, name = a.name, payload = args[7], type = args[8], identity = args[9],
    correlation = args[10], key = a.key, point = a.number,
  }
  local number = tonumber(rec.signals or 0) + 1
  signal.effect = count(wait, point, a, number, signal)
  local resumes = wait and conditions.hold(wait, now)
  if resumes then signal.effect = 'resumed' end
  signals.append(tag, id, rec, signal)
  signals.remember(tag, id, a.number, a.key, number)
  if signal.effect ~= 'ignored' then point.used = (point.used or 0) + 1 end
  waitpoints.write(tag, id, a.number, point)
  if resumes then
    local entry = { by = 'signal', signal = a.name, waitpoint = waitpoints.id(id, a.number) }
    waits.resume(tag, id, rec, wait, now, entry)
  elseif wait then
    waits.write(tag, id, wait)
  end
  return { 'ok', signal.effect, number }
end
